package config

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// kinds are the kinds of value for keys that affect weights. Libraries convert other
// kinds (Python takes 1 and "false" for true, pydantic takes "no" for false), so ignoring
// such a value here would change the numbers.
var kinds = map[string]func(v jsontree.Value) bool{
	"quant_method": isText, "checkpoint_format": isText, "packing_format": isText, "format": isText, "quant_algo": isText, "weights_dtype": isText,
	"strategy": isText, "type": isText, "mode": isText, "version": isText, "linear_class": isText, "weight_scale_semantics": isText,

	"sym": isBool, "symmetric": isBool, "desc_act": isBool, "zero_point": isBool, "has_zero_point": isBool, "pre_quant_scale": isBool,
	"use_hadamard": isBool, "use_svd": isBool, "use_codebook": isBool, "use_codebook_scale": isBool, "is_integer": isBool, "is_unsigned": isBool,
	"is_training": isBool,

	"modules_to_not_convert": isTexts, "ignored_layers": isTexts, "ignore": isTexts, "exclude_modules": isTexts, "exclude": isTexts, "targets": isTexts,
}

// free are objects that do not affect weights, and in which keys have other meanings.
var free = map[string]bool{
	"quant_type": true, "quant_type_kwargs": true, "producer": true, "meta": true, "exllama_config": true, "observer_kwargs": true, "input_activations": true, "output_activations": true,
}

func isText(v jsontree.Value) bool { return v.IsString() }

func isBool(v jsontree.Value) bool { _, ok := v.Bool(); return ok }

func isTexts(v jsontree.Value) bool {
	return v.There && v.Kind == strictjson.Array && !slices.ContainsFunc(v.List(), func(v jsontree.Value) bool { return !isText(v) })
}

// checkKinds returns an error if a key that affects weights has a value of a kind that
// the libraries do not write.
func checkKinds(b *limits.Budget, file string, o jsontree.Value) error {
	if err := b.Step(int64(len(o.Names()) + 1)); err != nil {
		return err
	}
	for _, name := range o.Names() {
		v := o.Get(name)
		list := v.List()
		if err := b.Step(int64(len(list))); err != nil {
			return err
		}
		if is := kinds[name]; is != nil && v.There && !is(v) {
			return wire.At("quant", file, wire.NoOffset, wire.ErrMismatch.Errorf("%s of a kind that libraries do not write", wire.Quote(name)))
		}
		if free[name] {
			continue
		}
		if err := checkBelow(b, file, v); err != nil {
			return err
		}
		for _, v := range list {
			if err := checkBelow(b, file, v); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkBelow(b *limits.Budget, file string, v jsontree.Value) error {
	if v.Kind == strictjson.Object {
		return checkKinds(b, file, v)
	}
	return nil
}

// Flag returns a boolean value, false if it is missing.
func Flag(name string, v jsontree.Value) (bool, error) {
	flag, ok := v.Bool()
	if !ok && v.There {
		return false, wire.ErrMismatch.Errorf("%s is neither true nor false", wire.Quote(name))
	}
	return flag, nil
}
