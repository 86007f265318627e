package convert

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A linearEncoder is what encoders have in common that quantize the weights of a
// model's linear modules, as transformers chooses them.
type linearEncoder struct {
	Quantized

	threads  int
	rule     bnbRule
	b        *limits.Budget
	m        tensor.Model
	straight *straight // the same, as weights are read
	target   quant.Target
	measures bool // each weight is compared with what it decodes to
}

func (e *linearEncoder) quantized() *Quantized { return &e.Quantized }

// begin looks at the model that is to be quantized.
func (e *linearEncoder) begin(b *limits.Budget, m tensor.Model, o *Options) error {
	e.threads, e.b, e.m, e.straight, e.target = o.Threads, b, m, &straight{Model: m, b: b}, o.Quant.Target
	if err := e.names(); err != nil {
		return err
	}
	if err := e.modelTypes(); err != nil {
		return wire.At("convert", "file "+wire.Quote(configName), wire.NoOffset, err)
	}
	return nil
}

// names makes the set of names that the rule asks.
func (e *linearEncoder) names() error {
	infos, err := limits.Make[string](e.b, e.m.Len())
	if err != nil {
		return err
	}
	set, err := wire.NewNameSet(e.b, e.m.Len(), func(i int) string { return infos[i] })
	if err != nil {
		return err
	}
	n := 0
	for i := range e.m.Tensors() {
		infos[n] = i.Name
		if _, _, err := set.Add(n); err != nil {
			return err
		}
		n++
	}
	e.rule.Has = func(name string) bool {
		_, ok := set.Find(name)
		return ok
	}
	return nil
}

// modelTypes reads the types of the model and of the models in it.
func (e *linearEncoder) modelTypes() error {
	body, err := readText(e.b, e.m.Configs(), configName, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	doc := strictjson.Text{Format: configName, Body: body, Whole: true}
	if err := strictjson.Decode(e.b, doc, func(d *strictjson.Decoder) error { return e.modelType(d, &e.Type) }); err != nil {
		return err
	}
	e.rule.Table = linearsOf(e.Type)
	e.ByName = e.rule.Table == nil
	return nil
}

func (e *linearEncoder) modelType(d *strictjson.Decoder, own *string) error {
	return d.Object(func(key string) error {
		kind, err := d.Kind()
		switch {
		case err != nil:
			return err
		case key == "model_type" && kind == strictjson.String:
			name, err := d.String()
			if err != nil {
				return err
			}
			*own = name
			e.rule.ModelTypes, err = limits.Append(e.b, e.rule.ModelTypes, name)
			return err
		case strings.HasSuffix(key, "_config") && kind == strictjson.Object:
			return e.modelType(d, new(string))
		}
		return d.Skip()
	})
}

// takes decides about a tensor by the rule.
func (e *linearEncoder) takes(name string, shape []int64) (verdict, error) {
	v := e.rule.judge(name, shape)
	switch {
	case v.Quantize:
		return encodeIt, nil
	case len(shape) != 2 || !strings.HasSuffix(name, ".weight"):
		return decodeIt, nil
	}
	return decodeIt, e.keep(name, v.Why)
}

// keep notes a matrix that is left alone.
func (e *linearEncoder) keep(name, why string) (err error) {
	e.Kept, err = limits.Append(e.b, e.Kept, KeptMatrix{name, why})
	return err
}

// encoding begins that of one weight.
func (e *linearEncoder) encoding(w *quant.Weight) linearEncoding {
	return linearEncoding{by: e, w: w, index: len(e.Weights)}
}

// planned notes a weight whose stored form is known.
func (e *linearEncoder) planned(w *quant.Weight, enc encoding) (err error) {
	one := QuantizedWeight{Name: w.Name, Type: enc.Outs()[0].DType, Shape: w.Shape, Elements: w.Rows() * w.Cols(), Before: w.Stored()}
	for _, o := range enc.Outs() {
		one.After += o.Size
	}
	e.Weights, err = limits.Append(e.b, e.Weights, one)
	return err
}
