package wire

import "errors"

// An Option names what the caller may set to decide: a field, or an argument, as
// the library's documentation spells it. A message that gives one to
// [Cause.With] says it so; a program that has flags finds it with [OptionsOf] and
// says its flag.
type Option string

// The options that messages name.
const (
	OptionScheme        Option = "quant.Options.Scheme"
	OptionGPTQZeros     Option = "quant.Options.GPTQZeros"
	OptionBlock         Option = "quant.Options.Block"
	OptionFoldPreQuant  Option = "quant.Options.FoldPreQuant"
	OptionIgnoreUnknown Option = "quant.Options.IgnoreUnknown"
	OptionAs            Option = "quant.Options.As"
	OptionTarget        Option = "quant.Options.Target"
	OptionAsIs          Option = "convert.Options.AsIs"
	OptionKeep          Option = "convert.Options.Keep"
	OptionMeta          Option = "convert.Options.Meta"
	OptionRawNames      Option = "convert.GGUF.RawNames"
	OptionTargetModel   Option = "convert/forms.LlamaCPP.Target"
	OptionInclude       Option = "convert.Choices.Include"
	OptionExclude       Option = "convert.Choices.Exclude"
	OptionForce         Option = "force"
	OptionResume        Option = "convert.Options.Resume"
)

// Options returns all options.
func Options() []Option {
	return []Option{
		OptionScheme, OptionGPTQZeros, OptionBlock, OptionFoldPreQuant, OptionIgnoreUnknown, OptionAs,
		OptionTarget, OptionAsIs, OptionKeep,
		OptionMeta, OptionRawNames, OptionTargetModel, OptionInclude, OptionExclude, OptionForce, OptionResume,
	}
}

// OptionsOf returns the options that an error names.
func OptionsOf(err error) []Option {
	if e, ok := errors.AsType[interface {
		error
		Options() []Option
	}](err); ok {
		return e.Options()
	}
	return nil
}

// OptionsIn returns the options among the arguments of a message.
func OptionsIn(args []any) []Option {
	var list []Option
	for _, a := range args {
		if o, ok := a.(Option); ok {
			list = append(list, o)
		}
	}
	return list
}
