package merge

import (
	"math"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// recipeName is the format in errors about a recipe.
const recipeName = "recipe"

// maxParts bounds slices, sources and settings, all of which are examined for every tensor.
const maxParts = 256

// A Recipe describes which models are merged, and how.
type Recipe struct {
	method *method
	base   string
	slices []slice
	whole  bool // there is one slice, with all layers
	params params
	dtype  tensor.DType // type that models and results are rounded to, or Unknown
	out    tensor.DType // type of the result; Unknown keeps the type of each tensor
	seed   uint64
	models []string
	cost   int64 // number of settings that are examined for a tensor
}

// A slice is a range of layers of the result, and its sources.
type slice struct {
	base    string
	sources []source
	params  params
}

// A source is a range of layers of one model.
type source struct {
	model    string
	from, to int64 // to is -1 for all
	params   params
}

// types are the values of dtype and out_dtype.
var types = map[string]tensor.DType{"float32": tensor.F32, "float16": tensor.F16, "bfloat16": tensor.BF16}

// unsupportedMembers are members of mergekit's recipes that are not supported, with reasons.
var unsupportedMembers = map[string]string{
	"modules": "only the one stack of layers of a model is merged", "tokenizer_source": "the tokenizer is the first model's, unchanged",
	"tokenizer": "the tokenizer is the first model's, unchanged", "chat_template": "the template is the first model's, unchanged",
}

// fromYAML is a command that converts a recipe to JSON; mergekit requires what it uses.
const fromYAML = `python -c "import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)" < recipe.yaml > recipe.json`

// ReadRecipe reads a recipe from JSON whose members are those of mergekit's YAML.
// The caller has charged the text.
func ReadRecipe(b *limits.Budget, text string) (*Recipe, error) {
	r := &Recipe{}
	if t := strings.TrimLeft(text, " \t\r\n"); t != "" && t[0] != '{' {
		return nil, wire.At(recipeName, "", wire.NoOffset, wire.ErrSyntax.Errorf("it is not a JSON object; convert mergekit's YAML to one with the same members: %s", fromYAML))
	}
	err := strictjson.Decode(b, strictjson.Text{Format: recipeName, Body: text, Whole: true}, func(d *strictjson.Decoder) error {
		v, err := jsontree.Decode(b, d)
		if err != nil {
			return err
		}
		return r.read(b, v)
	})
	if err != nil {
		return nil, wire.At(recipeName, "", wire.NoOffset, err)
	}
	return r, nil
}

// Models lists the models that will be opened. The result has the configuration and the files
// of the first.
func (r *Recipe) Models() []string { return r.models }

func failAt(v jsontree.Value, where string, err error) error {
	return wire.At(recipeName, where, v.Off(), err)
}

// eachMember calls one for each member of an object.
func eachMember(b *limits.Budget, v jsontree.Value, where string, one func(name string, v jsontree.Value) error) error {
	if v.Kind != strictjson.Object {
		return failAt(v, where, wire.ErrSyntax.Errorf("it is not an object"))
	}
	for m := range v.Members() {
		if err := b.Step(1); err != nil {
			return err
		}
		if err := one(m.Name, m.Value); err != nil {
			return failAt(m.Value, "member "+wire.Quote(m.Name), err)
		}
	}
	return nil
}

// unknown returns the error for a member that is not among the known ones.
func unknown(known string) error {
	return wire.ErrUnsupported.Errorf("it is unknown; the members are %s", known)
}

// setMethod sets the method by its name.
func (r *Recipe) setMethod(name string) error {
	i := slices.IndexFunc(methods[:], func(m method) bool { return m.name == name })
	if i < 0 {
		return wire.ErrUnsupported.Errorf("%s is not one of %s", wire.Quote(name), strings.Join(Methods(), ", "))
	}
	r.method = &methods[i]
	return nil
}

func (r *Recipe) read(b *limits.Budget, v jsontree.Value) error {
	var models, parts jsontree.Value
	err := eachMember(b, v, "", func(name string, v jsontree.Value) (err error) {
		switch name {
		case "merge_method":
			err = r.setMethod(v.String())
		case "base_model":
			r.base, err = modelName(v)
		case "models":
			models = v
		case "slices":
			parts = v
		case "parameters":
			r.params, err = readParams(b, v)
		case "dtype":
			r.dtype, err = typeOf(v)
		case "out_dtype":
			r.out, err = typeOf(v)
		case "seed":
			n, ok := v.Int()
			if !ok || n < 0 {
				return wire.ErrRange.Errorf("a seed must be an integer of at least 0")
			}
			r.seed = uint64(n)
		default:
			if why := unsupportedMembers[name]; why != "" {
				return wire.ErrUnsupported.Errorf("%s", why)
			}
			return unknown("merge_method, base_model, models, slices, parameters, dtype, out_dtype, seed")
		}
		return err
	})
	if r.out == tensor.Unknown {
		r.out = r.dtype
	}
	switch {
	case err != nil:
		return err
	case r.method == nil:
		return failAt(v, "", wire.ErrMissing.Errorf("merge_method, one of %s", strings.Join(Methods(), ", ")))
	case models.There == parts.There:
		return failAt(v, "", wire.ErrMissing.Errorf("one of models and slices"))
	case models.There:
		err = r.readModels(b, models)
	default:
		err = r.readSlices(b, parts)
	}
	if err == nil {
		err = r.check()
	}
	return err
}

func typeOf(v jsontree.Value) (tensor.DType, error) {
	t, ok := types[v.String()]
	if !ok {
		return t, wire.ErrUnsupported.Errorf("%s is not one of float32, float16, bfloat16", wire.Quote(v.String()))
	}
	return t, nil
}

// Finer reports whether the result is more precise than mergekit's, which rounds the result of
// every step to a dtype of 16 bits, not only that of the last.
func (r *Recipe) Finer() bool {
	return r.method.differences && (r.dtype == tensor.BF16 || r.dtype == tensor.F16)
}

// modelName returns the name of a model, which the caller of [Merge] interprets.
func modelName(v jsontree.Value) (string, error) {
	if v.String() == "" {
		return "", wire.ErrSyntax.Errorf("it is not the name of a model")
	}
	return v.String(), nil
}

func (r *Recipe) readModels(b *limits.Budget, v jsontree.Value) error {
	one := slice{base: r.base}
	err := eachElement(v, "models", func(v jsontree.Value) error {
		s := source{to: -1}
		if err := r.readSource(b, v, &s, false); err != nil {
			return err
		}
		if slices.ContainsFunc(one.sources, func(o source) bool { return o.model == s.model }) {
			return failAt(v, "", wire.ErrDuplicate.Errorf("model %s", wire.Quote(s.model)))
		}
		var err error
		one.sources, err = limits.Append(b, one.sources, s)
		return err
	})
	if r.base != "" && r.method.needsBase && !slices.ContainsFunc(one.sources, func(o source) bool { return o.model == r.base }) {
		one.sources = append(one.sources, source{model: r.base, to: -1})
	}
	r.slices, r.whole = []slice{one}, true
	return err
}

func (r *Recipe) readSlices(b *limits.Budget, v jsontree.Value) error {
	return eachElement(v, "slices", func(v jsontree.Value) error {
		s := slice{base: r.base}
		err := eachMember(b, v, "slices", func(name string, v jsontree.Value) (err error) {
			switch name {
			case "base_model":
				s.base, err = modelName(v)
			case "parameters":
				s.params, err = readParams(b, v)
			case "sources":
				err = eachElement(v, "sources", func(v jsontree.Value) error {
					one := source{from: -1}
					if err := r.readSource(b, v, &one, true); err != nil {
						return err
					}
					if one.from < 0 {
						return failAt(v, "sources", wire.ErrMissing.Errorf("layer_range"))
					}
					s.sources, err = limits.Append(b, s.sources, one)
					return err
				})
			default:
				err = unknown("base_model, parameters, sources")
			}
			return err
		})
		for _, one := range s.sources {
			if one.to-one.from != s.sources[0].to-s.sources[0].from {
				return failAt(v, "slices", wire.ErrMismatch.Errorf("the sources of a slice must have the same number of layers"))
			}
		}
		if len(s.sources) == 0 && err == nil {
			err = failAt(v, "slices", wire.ErrMissing.Errorf("sources"))
		}
		if err == nil {
			r.slices, err = limits.Append(b, r.slices, s)
		}
		return err
	})
}

// eachElement calls one for each element of an array, which has 1 to maxParts elements.
func eachElement(v jsontree.Value, what string, one func(v jsontree.Value) error) error {
	all := v.List()
	if len(all) == 0 || len(all) > maxParts {
		return failAt(v, what, wire.ErrRange.Errorf("a list must have 1 to %d elements", maxParts))
	}
	for _, e := range all {
		if err := one(e); err != nil {
			return err
		}
	}
	return nil
}

func (r *Recipe) readSource(b *limits.Budget, v jsontree.Value, s *source, ranged bool) error {
	err := eachMember(b, v, "source", func(name string, v jsontree.Value) (err error) {
		switch {
		case name == "model":
			s.model, err = modelName(v)
		case name == "parameters":
			s.params, err = readParams(b, v)
		case name == "layer_range" && ranged:
			ends := v.List()
			if len(ends) != 2 {
				return wire.ErrRange.Errorf("a range must be two integers")
			}
			from, ok := ends[0].Int()
			to, fits := ends[1].Int()
			if !ok || !fits || from < 0 || to <= from || to > math.MaxInt32 {
				return wire.ErrRange.Errorf("a range must be two integers, the first less than the second")
			}
			s.from, s.to = from, to
		case ranged:
			err = unknown("model, parameters, layer_range")
		default:
			err = unknown("model, parameters")
		}
		return err
	})
	if err == nil && s.model == "" {
		err = failAt(v, "source", wire.ErrMissing.Errorf("model"))
	}
	return err
}

// check checks the recipe against its method, and lists the models.
func (r *Recipe) check() error {
	if r.base != "" {
		r.models = append(r.models, r.base)
	}
	given := []params{r.params}
	for _, s := range r.slices {
		given = append(given, s.params)
		for _, one := range s.sources {
			if !slices.Contains(r.models, one.model) {
				r.models = append(r.models, one.model)
			}
			if len(r.models) > maxParts {
				return wire.ErrRange.Errorf("more than %d models", maxParts)
			}
			if r.method.needsBase && one.model == s.base && len(one.params) > 0 {
				return wire.ErrUnsupported.Errorf("parameters of the base model %s have no effect", wire.Quote(one.model))
			}
			if err := r.method.checkParams(one.params, false); err != nil {
				return err
			}
			given = append(given, one.params)
		}
		if err := r.method.checkSlice(&s); err != nil {
			return err
		}
	}
	r.cost = 1
	for _, p := range given {
		for _, s := range p {
			r.cost += int64(len(s))
		}
		if err := r.method.checkParams(p, true); err != nil {
			return err
		}
	}
	return nil
}
