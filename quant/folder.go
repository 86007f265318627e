package quant

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// The architectures whose modules hold their matrices as [in, out], in
// transformers 5.23: what was quantized the other way round is turned back.

// architecture is the model_type of config.json, or of the language model in it.
func (s *set) architecture() string {
	if t := s.config.Model.At("text_config").Text("model_type"); t != "" {
		return t
	}
	return s.config.Model.Text("model_type")
}

// conv1D are the modules of transformers' Conv1D by model_type: their weight is
// [in, out], and quantizers that replace them by linear layers turn it.
var conv1D = map[string][]string{
	"gpt2":                 {"c_attn", "q_attn", "c_proj", "c_fc"},
	"imagegpt":             {"c_attn", "q_attn", "c_proj", "c_fc"},
	"decision_transformer": {"c_attn", "q_attn", "c_proj", "c_fc"},
	"openai-gpt":           {"c_attn", "c_proj", "c_fc"},
	"clvp":                 {"c_proj", "c_fc"},
}

// layOut gives a weight the orientation that the unquantized model has.
func (s *set) layOut(w *Weight) error {
	if !s.o.Folder || len(w.Shape) < 2 {
		return nil
	}
	if len(s.config.Quant.At("transform_config", "config_groups").Names()) > 0 {
		return wire.ErrUnsupported.With("%s says transform_config: the weights are stored rotated, and the unquantized model would not turn its inputs; remember the file, not the folder",
			s.config.File)
	}
	stem, blocks := strings.CutSuffix(w.Parts[0].Name, "_blocks")
	switch {
	case blocks && stem == w.Name: // gpt-oss: its experts are [E, in, out]
		return w.turn(s.b)
	case len(w.Shape) == 2 && w.row.linear:
		module := strings.TrimSuffix(w.Name, ".weight")
		module = module[strings.LastIndexByte(module, '.')+1:]
		if slices.Contains(conv1D[s.architecture()], module) {
			return w.turn(s.b)
		}
	}
	return nil
}

// turn makes the weight the transpose of each of its matrices.
func (w *Weight) turn(b *limits.Budget) error {
	inner, ok := w.form.(form.Slicer)
	if !ok || !inner.Slices() {
		return wire.ErrUnsupported.With("%s cannot be written transposed, as the unquantized model has it: remember the file, not the folder", w.Layout)
	}
	last := len(w.Shape) - 1
	out, in := w.Shape[last-1], w.Shape[last]
	n, _ := wire.Product(w.Shape[:last-1])
	matrices, ok := wire.Int(n, wire.MaxSize)
	if !ok {
		return wire.ErrOverflow.With("%d matrices", n)
	}
	pieces, err := limits.Make[form.Piece](b, matrices)
	if err != nil {
		return err
	}
	for m := range pieces {
		pieces[m] = form.Piece{Form: inner, First: int64(m) * out, Rows: out, Parts: len(w.Parts)}
	}
	w.Shape = slices.Clone(w.Shape)
	w.Shape[last-1], w.Shape[last] = in, out
	w.form = &form.Transposed{In: in, Out: out, Side: 1, Pieces: pieces}
	w.Layout += ", transposed"
	return nil
}
