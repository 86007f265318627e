package encode

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/loaders"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Linear is the common part of encoders that quantize the weights of linear
// modules as transformers chooses them.
type Linear struct {
	Quantized
	Passes

	Rule     transformers.Rule
	Model    tensor.Model
	Target   scheme.Target
	measures bool    // compare each weight with its decoded encoding
	As       *Target // what is written

	Fused  *fusedNames            // nil if no loader of the format fuses matrices
	Leaves func(name string) bool // what the library leaves alone by names; nil for nothing
	Leaver string                 // its name

	LosesExperts bool     // transformers finds experts of this type in codes only
	splits       []string // modules that transformers makes of the parts of in_proj_weight
	classes      []string // that config.json names
	component    string   // class of diffusers that config.json names
	writtenBy    string   // version of transformers, or of diffusers, that config.json states

	Lack           Lack       // of what transformers expects; see Compare
	tie, tieOfText tieSetting // of the model, and of its text_config
	within         string     // the member of config.json that is read
}

func (e *Linear) Result() *Quantized { return &e.Quantized }

// NewLinear returns a linearEncoder.
func NewLinear(layout string, measures bool, rule transformers.Rule) Linear {
	return Linear{Quantized: Quantized{Layout: layout}, measures: measures, Rule: rule}
}

// Begin reads what the rule needs to know about the model.
func (e *Linear) Begin(b *limits.Budget, m tensor.Model, o *Options) error {
	e.Passes = Passes{Threads: o.Threads, Budget: b, Straight: o.Straight, Zeroes: o.Zeroes}
	e.Model, e.Target = m, o.Target
	if err := e.names(); err != nil {
		return err
	}
	if err := e.modelTypes(); err != nil {
		return wire.At("convert", "file "+wire.Quote(ConfigName), wire.NoOffset, err)
	}
	return e.nameless()
}

// StoresAs sets the target that is written, and which groups its loaders read as one.
func (e *Linear) StoresAs(t *Target) {
	if e.As = t; t.Fuses {
		e.Fused = fusedIn(e.classes)
	}
	e.LosesExperts = t.Experts != nil && t.Experts.Only && loaders.StacksExperts(e.Type)
}

// names makes the set of tensor names for the rule.
func (e *Linear) names() error {
	infos, err := limits.Make[string](e.Budget, e.Model.Len())
	if err != nil {
		return err
	}
	set, err := wire.NewNameSet(e.Budget, e.Model.Len(), func(i int) string { return infos[i] })
	if err != nil {
		return err
	}
	n := 0
	for i := range e.Model.Tensors() {
		infos[n] = i.Name
		if _, _, err := set.Add(n); err != nil {
			return err
		}
		n++
	}
	e.Rule.Has = func(name string) bool {
		_, ok := set.Find(name)
		return ok
	}
	return nil
}

// modelTypes reads the types of the model and of the models inside it.
func (e *Linear) modelTypes() error {
	body, err := ReadText(e.Budget, e.Model.Configs(), ConfigName, MaxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		e.ByName = true
		return nil
	}
	if err != nil {
		return err
	}
	doc := strictjson.Text{Format: ConfigName, Body: body, Whole: true}
	if err := strictjson.Decode(e.Budget, doc, func(d *strictjson.Decoder) error { return e.modelType(d, &e.Type, &e.classes) }); err != nil {
		return err
	}
	e.Rule.Tables(e.Type, e.classes)
	e.ByName = e.Rule.Table == nil
	if known := transformers.KnowsClasses(e.Type); known && e.Rule.Class == "" && len(e.classes) > 0 {
		e.UnknownClass = e.classes[0]
	}
	return nil
}

// modelType reads the type of a configuration, and the classes of the whole model.
func (e *Linear) modelType(d *strictjson.Decoder, own *string, classes *[]string) error {
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
			if e.Rule.ModelTypes, err = limits.Append(e.Budget, e.Rule.ModelTypes, name); err == nil && e.Rule.AsksFor(name) {
				e.Rule.Named, err = limits.Append(e.Budget, e.Rule.Named, name)
			}
			return err
		case kind == strictjson.Object: // text_config, decoder, audio_encoder of musicgen, or no configuration
			was := e.within
			if classes != nil {
				e.within = key
			}
			err := e.modelType(d, new(string), nil)
			e.within = was
			return err
		case key == tieKey && kind == strictjson.Bool:
			return e.readTie(d, classes != nil)
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
					*classes, err = limits.Append(e.Budget, *classes, name)
				}
				return err
			})
		}
		return d.Skip()
	})
}

// readTie reads whether embeddings are tied, of the model itself or of a part of it.
func (e *Linear) readTie(d *strictjson.Decoder, own bool) error {
	tied, err := d.Bool()
	switch {
	case own:
		e.tie = tieSetting{true, tied}
	case e.within == "text_config":
		e.tieOfText = tieSetting{true, tied}
	}
	return err
}

// Takes decides about a tensor by the rule.
func (e *Linear) Takes(name string, shape []int64) (Verdict, error) {
	return e.chooses(name, shape, e.judge(name, shape))
}

// judge applies the rule, and counts the matrices that are not in the table, for which
// names decide.
func (e *Linear) judge(name string, shape []int64) transformers.Verdict {
	v := e.Rule.Judge(name, shape)
	if v.Guessed {
		if e.Guessed++; e.Guessed == 1 {
			e.FirstGuessed = name
		}
	}
	if v.Quantize && e.As.Replaces && !e.Rule.Chosen(name) {
		if why := e.Rule.Needs(strings.TrimSuffix(name, ".weight")); why != transformers.None {
			return transformers.Verdict{Why: why}
		}
	}
	return v
}

// chooses converts the rule's verdict to a verdict about a tensor.
func (e *Linear) chooses(name string, shape []int64, v transformers.Verdict) (Verdict, error) {
	switch {
	case v.Wrong != transformers.None:
		return 0, wire.ErrUsage.Errorf("%s: %s is chosen, but %s builds no linear module for it (%s), so the result would not load",
			wire.OptionInclude, wire.Quote(name), wire.Quote(e.Type), v.Wrong)
	case v.Quantize:
		return EncodeIt, nil
	case len(shape) != 2 || !strings.HasSuffix(name, ".weight"):
		return DecodeIt, e.keepsParts(name)
	}
	return DecodeIt, e.Keep(name, v.Why)
}

// keepsParts notes the linear modules that some classes of transformers 5 make of torch's
// in_proj_weight: their numbers are not quantized.
func (e *Linear) keepsParts(name string) (err error) {
	module, ok := strings.CutSuffix(name, ".in_proj_weight")
	for _, part := range []string{".q_proj", ".k_proj", ".v_proj"} {
		if ok && err == nil {
			e.splits, err = limits.Append(e.Budget, e.splits, module+part)
		}
	}
	return err
}

// TakesAligned also decides by the rule, for formats whose groups must divide the rows
// and columns as fits reports. also reports whether the format quantizes matrices that
// the rule keeps for a reason.
func (e *Linear) TakesAligned(name string, shape []int64, also func(transformers.Reason) bool, fits func(rows, cols int64) bool, groups string) (Verdict, error) {
	v := e.judge(name, shape)
	switch {
	case !v.Quantize && !also(v.Why), v.Wrong != transformers.None && !also(v.Wrong):
		return e.chooses(name, shape, v)
	case e.Leaves != nil && e.Leaves(name) && !e.Rule.Chosen(name):
		return DecodeIt, e.KeepFor(name, e.Leaver+" leaves it alone")
	case v.Transposed:
		return DecodeIt, e.KeepFor(name, "stored transposed, which its loaders do not take")
	case !fits(shape[0], shape[1]):
		return DecodeIt, e.KeepFor(name, "its rows or columns are not a whole number of "+groups)
	}
	return EncodeIt, nil
}

// Keep notes a matrix that the rule leaves alone.
func (e *Linear) Keep(name string, reason transformers.Reason) (err error) {
	e.Kept, err = limits.Append(e.Budget, e.Kept, KeptMatrix{name, reason.String(), reason})
	return err
}

// KeepFor notes a matrix that is left alone for a reason of the format.
func (e *Linear) KeepFor(name, why string) (err error) {
	e.Kept, err = limits.Append(e.Budget, e.Kept, KeptMatrix{Name: name, Why: why})
	return err
}

// Of returns the common part of a weight's encoding.
func (e *Linear) Of(w *scheme.Weight) (LinearWeight, error) {
	if w.Matrix().Transposed() {
		return LinearWeight{}, wire.ErrUnsupported.Errorf("its scheme stores it transposed: decode the model first")
	}
	return LinearWeight{by: e, Source: w, index: len(e.Weights)}, nil
}

// floatTypes are the types that a weight may have before it is quantized.
var floatTypes = map[tensor.DType]asm.Type{tensor.F32: asm.F32, tensor.F16: asm.F16, tensor.BF16: asm.BF16}

// Computed returns the type in which a library computes, that of the model's weights, and
// whether this weight's numbers are rounded to it, as decoded ones are.
func (e *Linear) Computed(w *scheme.Weight) (d asm.Type, rounds bool) {
	if d, ok := floatTypes[w.Parts[0].DType]; ok && len(w.Parts) == 1 {
		return d, false
	}
	return e.Target.Kind(), true
}

// Planned notes a weight whose encoding is planned.
func (e *Linear) Planned(w *scheme.Weight, enc Encoding) (err error) {
	if err := e.checkTied(w.Name); err != nil {
		return err
	}
	one := QuantizedWeight{Name: w.Name, Type: enc.Outs()[0].DType, Shape: w.Shape, Elements: w.Rows() * w.Cols(), Before: w.Stored()}
	one.From, _ = e.Computed(w)
	for _, o := range enc.Outs() {
		one.After += o.Size
	}
	e.Weights, err = limits.Append(e.Budget, e.Weights, one)
	return err
}
