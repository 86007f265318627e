package forms

import (
	"io/fs"

	"github.com/anamnesis-go/anamnesis/internal/family"
	"github.com/anamnesis-go/anamnesis/internal/model"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/mxfp4"
)

// LlamaCPP converts a transformers model to llama.cpp's form.
type LlamaCPP struct {
	// Name is general.name.
	Name string
	// Pre names the pre-tokenizer, if llama.cpp's table does not have it.
	Pre string
	// Template says that the caller sets tokenizer.chat_template, so that a vocabulary without a
	// known template is accepted.
	Template bool
	// TensorsAlone leaves keys and vocabulary out: to compare tensors.
	TensorsAlone bool
	// Projector writes the vision part of a model instead of its text model, for the file
	// that llama.cpp loads beside the text model.
	Projector bool
	// Target is the folder of the model that a draft model predicts tokens of: its vocabulary is
	// written. It may be nil.
	Target fs.FS
	// Quant says how quantized weights are read, and the type they are decoded to.
	Quant quant.Options
	// Blocks keeps experts that are stored in MXFP4 blocks in this type, as llama.cpp's
	// converter does: codes are moved and nothing is rounded.
	Blocks bool
	// All converts all matrices to Quant.Target, including those that were not quantized,
	// as --outtype of llama.cpp's converter does.
	All bool
}

// Stated reports whether a model is in a transformers folder, whose config.json names its
// architecture.
func Stated(m tensor.Model) bool { return m.Format() != gguf.Format && family.Stated(m.Configs()) }

// Model returns a transformers model in the form of llama.cpp: names, order of rows,
// stacked experts, tensors derived from the configuration, keys and vocabulary. No tensor
// is read. The result owns m: closing it closes m. An unknown architecture is refused by
// name.
func (l LlamaCPP) Model(b *limits.Budget, m tensor.Model) (tensor.Model, error) {
	r, err := l.model(b, m)
	if err != nil {
		return nil, wire.At("convert", "", wire.NoOffset, err)
	}
	return r, nil
}

func (l LlamaCPP) model(b *limits.Budget, m tensor.Model) (*model.Model, error) {
	if m.Format() == "pth" {
		if err := parser.Verify(b, m); err != nil {
			return nil, err
		}
	}
	files := m.Configs()
	m, err := unstacked(b, m)
	if err != nil {
		return nil, err
	}
	o := family.Options{Name: l.Name, Pre: l.Pre, Template: l.Template, TensorsAlone: l.TensorsAlone, Projector: l.Projector, Target: l.Target}
	if l.All {
		o.Type = l.Quant.Target.DType()
	}
	facts := model.Facts{Made: true, CastsAll: l.All, Wide: family.Wide}
	if quant.Any(m) {
		d, err := model.Decode(b, m, l.Quant)
		if err != nil {
			return nil, err
		}
		o.Decoded = func(i *tensor.Info) (tensor.DType, bool) { return l.Quant.Target.DType(), d.Weight(i.Name) != nil }
		if l.Blocks {
			o.Packed = func(i *tensor.Info) (blocks, scales tensor.Info, ok bool) { return mxfp4.Parts(d.Weight(i.Name)) }
		}
		m, facts.Bound = d, d.Bound
	}
	plan, err := family.New(b, m, o)
	if err != nil {
		return nil, err
	}
	out, err := formed{gguf.Format, plan.Tensors, plan.Keys, files}.of(b, m)
	if err != nil {
		return nil, err
	}
	out.Facts = facts
	return out, nil
}
