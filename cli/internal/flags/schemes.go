package flags

import (
	"errors"
	"fmt"
	"slices"

	"github.com/anamnesis-go/anamnesis/quant"
)

// PlanFlags decide how quantized weights are read, and for which type sizes are printed.
type PlanFlags struct {
	To          string `help:"Type for which decoded sizes are printed: bf16, f16, f32." enum:"bf16,f16,f32" default:"bf16" placeholder:"bf16"`
	SourceFlags `embed:""`
}

func (f *PlanFlags) Options() *quant.Options { return f.SourceFlags.Options(f.To) }

// SourceFlags are the flags of commands that read quantized weights and write none.
type SourceFlags struct {
	SchemeFlags `embed:""`

	BlockSize []int64 `sep:"," placeholder:"ROWS,COLS" help:"Block size of FP8 scales, if the file does not state it."`
}

// Validate checks the flags.
func (f *SourceFlags) Validate() error {
	if n := f.BlockSize; len(n) != 0 && (len(n) != 2 || min(n[0], n[1]) < 1) {
		return errors.New("--block-size: give rows and columns, such as 128,128")
	}
	return f.SchemeFlags.Validate()
}

func (f *SourceFlags) Options(to string) *quant.Options {
	return f.SchemeFlags.Options(to, f.BlockSize)
}

// SchemeFlags decide how quantized weights are read.
type SchemeFlags struct {
	Scheme    string `placeholder:"NAME" help:"Quantization scheme, if a weight fits several (amn formats lists them)."`
	GPTQZeros string `name:"gptq-zeros" default:"" enum:",v1,v2" placeholder:"v1|v2" help:"How GPTQ stores zero points, if the file does not state it."`

	As string `default:"" enum:",mlx" placeholder:"mlx" help:"Decode MLX integers in the type of their scales, like mx.dequantize, instead of in float32 with one rounding."`

	FoldPreQuantScale bool `help:"Multiply weights by the pre_quant_scale of their inputs."`

	IgnoreUnknown []string `placeholder:"KEY" help:"Ignore an unknown key of the quantization configuration, or an unknown tensor next to a weight. Repeatable."`
}

// Validate checks the flags.
func (f *SchemeFlags) Validate() error {
	schemes, _ := quant.Schemes()
	known := func(s quant.Support) bool { return s.Name == f.Scheme }
	if f.Scheme != "" && !slices.ContainsFunc(schemes, known) {
		return fmt.Errorf("--scheme: %q is not a scheme that amn formats lists", f.Scheme)
	}
	return nil
}

// Options returns the options for decoding to a type that a flag allows; block is the rows
// and columns of a block of FP8 scales, if given.
func (f *SchemeFlags) Options(to string, block []int64) *quant.Options {
	target, err := quant.ParseTarget(to)
	if err != nil {
		panic("internal error: " + err.Error()) // the flag allows only known names
	}
	o := &quant.Options{Target: target, Scheme: f.Scheme, GPTQZeros: f.GPTQZeros, As: f.As, FoldPreQuant: f.FoldPreQuantScale, IgnoreUnknown: f.IgnoreUnknown}
	copy(o.Block[:], block)
	return o
}
