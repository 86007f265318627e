package convert

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/loaders"
	"github.com/anamnesis-go/anamnesis/internal/model"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// A linearEncoder is the common part of encoders that quantize the weights of linear
// modules as transformers chooses them.
type linearEncoder struct {
	Quantized
	passes

	rule     transformers.Rule
	m        tensor.Model
	target   quant.Target
	measures bool           // compare each weight with its decoded encoding
	library  scaled.Library // that the format belongs to
	format   string         // its name

	fused        *fusedNames // nil if no loader of the format fuses matrices
	losesExperts bool        // transformers finds experts of this type in codes only
	classes      []string    // that config.json names
	component    string      // class of diffusers that config.json names
	writtenBy    string      // version of transformers, or of diffusers, that config.json states
}

func (e *linearEncoder) quantized() *Quantized { return &e.Quantized }

// linearsIn returns a linearEncoder.
func linearsIn(layout string, measures bool, rule transformers.Rule) linearEncoder {
	return linearEncoder{Quantized: Quantized{Layout: layout}, measures: measures, rule: rule}
}

// begin reads what the rule needs to know about the model.
func (e *linearEncoder) begin(b *limits.Budget, m tensor.Model, o *Options) error {
	e.passes = passes{threads: o.Threads, b: b, straight: model.NewStraight(b, m), zeroes: o.NaN == ZeroNaN}
	e.m, e.target = m, o.Quant.Target
	if err := e.names(); err != nil {
		return err
	}
	if err := e.modelTypes(); err != nil {
		return wire.At("convert", "file "+wire.Quote(configName), wire.NoOffset, err)
	}
	return e.nameless()
}

// stores sets the format, and which groups its loaders read as one.
func (e *linearEncoder) stores(library scaled.Library, format string) {
	e.library, e.format = library, format
	switch library {
	case scaled.CompressedTensors, scaled.ModelOpt, scaled.GPTQModel, scaled.AutoAWQ:
		e.fused = fusedIn(e.classes)
	}
	_, compressed := expertFormats[format]
	e.losesExperts = compressed && !strings.HasPrefix(format, "fp8_") && loaders.StacksExperts(e.Type)
}

// names makes the set of tensor names for the rule.
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

// modelTypes reads the types of the model and of the models inside it.
func (e *linearEncoder) modelTypes() error {
	body, err := readText(e.b, e.m.Configs(), configName, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		e.ByName = true
		return nil
	}
	if err != nil {
		return err
	}
	doc := strictjson.Text{Format: configName, Body: body, Whole: true}
	if err := strictjson.Decode(e.b, doc, func(d *strictjson.Decoder) error { return e.modelType(d, &e.Type, &e.classes) }); err != nil {
		return err
	}
	e.rule.Tables(e.Type, e.classes)
	e.ByName = e.rule.Table == nil
	if known := transformers.KnowsClasses(e.Type); known && e.rule.Class == "" && len(e.classes) > 0 {
		e.UnknownClass = e.classes[0]
	}
	return nil
}

// modelType reads the type of a configuration, and the classes of the whole model.
func (e *linearEncoder) modelType(d *strictjson.Decoder, own *string, classes *[]string) error {
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
			if e.rule.ModelTypes, err = limits.Append(e.b, e.rule.ModelTypes, name); err == nil && e.rule.AsksFor(name) {
				e.rule.Named, err = limits.Append(e.b, e.rule.Named, name)
			}
			return err
		case (strings.HasSuffix(key, "_config") || key == "encoder" || key == "decoder") && kind == strictjson.Object:
			return e.modelType(d, new(string), nil)
		case (key == "transformers_version" || key == "_diffusers_version") && kind == strictjson.String && classes != nil:
			e.writtenBy, err = d.String()
			return err
		case key == "_class_name" && kind == strictjson.String && classes != nil:
			e.component, err = d.String()
			return err
		case key == "architectures" && kind == strictjson.Array && classes != nil:
			return d.Array(func(i int) error {
				if kind, err := d.Kind(); err != nil || kind != strictjson.String || i >= transformers.MostInside {
					return errors.Join(err, d.Skip())
				}
				name, err := d.String()
				if err == nil {
					*classes, err = limits.Append(e.b, *classes, name)
				}
				return err
			})
		}
		return d.Skip()
	})
}

// takes decides about a tensor by the rule.
func (e *linearEncoder) takes(name string, shape []int64) (verdict, error) {
	return e.chooses(name, shape, e.judge(name, shape))
}

// judge applies the rule, and counts the matrices that are not in the table, for which
// names decide.
func (e *linearEncoder) judge(name string, shape []int64) transformers.Verdict {
	v := e.rule.Judge(name, shape)
	if v.Guessed {
		if e.Guessed++; e.Guessed == 1 {
			e.FirstGuessed = name
		}
	}
	if v.Quantize && e.readsType() && !e.rule.Chosen(name) && e.rule.Typed(strings.TrimSuffix(name, ".weight")) {
		return transformers.Verdict{Why: transformers.Typed}
	}
	return v
}

// readsType reports whether codes of the format are what transformers' modules have as weight, or
// have no weight. TorchAO's tensors say the type that they were made of, and the modules of GPTQ and
// AWQ have other names than the file.
func (e *linearEncoder) readsType() bool {
	return e.library == scaled.CompressedTensors // or bitsandbytes, which is in no table of libraries
}

// chooses converts the rule's verdict to a verdict about a tensor.
func (e *linearEncoder) chooses(name string, shape []int64, v transformers.Verdict) (verdict, error) {
	switch {
	case v.Wrong != transformers.None:
		return 0, wire.ErrUsage.Errorf("%s: %s is chosen, but %s builds no linear module for it (%s), so the result would not load",
			wire.OptionInclude, wire.Quote(name), wire.Quote(e.Type), v.Wrong)
	case v.Quantize:
		return encodeIt, nil
	case len(shape) != 2 || !strings.HasSuffix(name, ".weight"):
		return decodeIt, nil
	}
	return decodeIt, e.keep(name, v.Why)
}

// takesAligned also decides by the rule, for formats whose groups must divide the rows
// and columns as fits reports. also reports whether the format quantizes matrices that
// the rule keeps for a reason.
func (e *linearEncoder) takesAligned(name string, shape []int64, also func(transformers.Reason) bool, fits func(rows, cols int64) bool, groups string) (verdict, error) {
	v := e.judge(name, shape)
	switch {
	case !v.Quantize && !also(v.Why), v.Wrong != transformers.None && !also(v.Wrong):
		return e.chooses(name, shape, v)
	case e.library == scaled.ModelOpt && modelOptLeaves(name) && !e.rule.Chosen(name):
		return decodeIt, e.keepFor(name, "ModelOpt leaves it alone")
	case v.Transposed:
		return decodeIt, e.keepFor(name, "stored transposed, which its loaders do not take")
	case !fits(shape[0], shape[1]):
		return decodeIt, e.keepFor(name, "its rows or columns are not a whole number of "+groups)
	}
	return encodeIt, nil
}

// keep notes a matrix that the rule leaves alone.
func (e *linearEncoder) keep(name string, reason transformers.Reason) (err error) {
	e.Kept, err = limits.Append(e.b, e.Kept, KeptMatrix{name, reason.String(), reason})
	return err
}

// keepFor notes a matrix that is left alone for a reason of the format.
func (e *linearEncoder) keepFor(name, why string) (err error) {
	e.Kept, err = limits.Append(e.b, e.Kept, KeptMatrix{Name: name, Why: why})
	return err
}

// encoding returns the common part of a weight's encoding.
func (e *linearEncoder) encoding(w *quant.Weight) (linearEncoding, error) {
	if w.Matrix().Transposed() {
		return linearEncoding{}, wire.ErrUnsupported.Errorf("its scheme stores it transposed: decode the model first")
	}
	return linearEncoding{by: e, w: w, index: len(e.Weights)}, nil
}

// floatTypes are the types that a weight may have before it is quantized.
var floatTypes = map[tensor.DType]asm.Type{tensor.F32: asm.F32, tensor.F16: asm.F16, tensor.BF16: asm.BF16}

// computed returns the type in which a library computes, that of the model's weights, and
// whether this weight's numbers are rounded to it, as decoded ones are.
func (e *linearEncoder) computed(w *quant.Weight) (d asm.Type, rounds bool) {
	if d, ok := floatTypes[w.Parts[0].DType]; ok && len(w.Parts) == 1 {
		return d, false
	}
	return kinds[e.target], true
}

// planned notes a weight whose encoding is planned.
func (e *linearEncoder) planned(w *quant.Weight, enc encoding) (err error) {
	one := QuantizedWeight{Name: w.Name, Type: enc.Outs()[0].DType, Shape: w.Shape, Elements: w.Rows() * w.Cols(), Before: w.Stored()}
	one.from, _ = e.computed(w)
	for _, o := range enc.Outs() {
		one.After += o.Size
	}
	e.Weights, err = limits.Append(e.b, e.Weights, one)
	return err
}
