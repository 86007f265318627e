package quant

import (
	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// MaxConfig bounds one configuration file.
const MaxConfig = scheme.MaxConfig

// Options decide questions that tensors and configuration leave open.
type Options = scheme.Options

// AsMLX computes MLX's integers in the type of their scales, BF16 or F16, as
// mx.dequantize does: see [Options].
const AsMLX = scheme.AsMLX

// ErrNotMLX refuses [AsMLX] for a model without weights of MLX.
var ErrNotMLX = scheme.ErrNotMLX

// A Weight is one logical tensor and the stored tensors that hold it. It is safe for
// concurrent use.
type Weight = scheme.Weight

// A Target is a type that decoded numbers are written in.
type Target = scheme.Target

// The targets. Numbers are rounded once, to nearest and ties to even.
const (
	BF16 = scheme.BF16
	F16  = scheme.F16
	F32  = scheme.F32
)

// ParseTarget reads the name of a target: bf16, f16, f32.
func ParseTarget(s string) (Target, error) { return scheme.ParseTarget(s) }

// Rows decodes a weight from its first row to its last, some rows at a time.
type Rows = scheme.Rows

// NewRows begins a weight, step rows at a time; 0 chooses a default. Its memory is charged
// to b. Close ends it.
func NewRows(b *limits.Budget, m tensor.Model, w *Weight, to Target, step int64) (*Rows, error) {
	return scheme.NewRows(b, m, w, to, step)
}

// Decode reads the parts of a weight and writes the decoded weight to dst, which has
// [Weight.Size] bytes.
func Decode(b *limits.Budget, m tensor.Model, w *Weight, dst []byte, to Target) error {
	return scheme.Decode(b, m, w, dst, to)
}

// Cast returns a tensor of floating-point numbers as a weight that decodes to them, or nil
// for any other type. Its bytes count as row-major; the reader of a view with strides
// reorders them.
func Cast(info *tensor.Info) (*Weight, error) { return scheme.Cast(info) }

// Transpose returns a matrix of floating-point numbers, or each matrix of a stack, with
// rows and columns exchanged. Any range of rows needs its whole matrix.
func Transpose(w *Weight) (*Weight, error) { return scheme.Transpose(w) }

// A Distortion measures the loss of quantization, as sums over the numbers before and
// after. The zero Distortion is that of no numbers.
type Distortion = scheme.Distortion

// DistortionBytes is what the sums of one block of [Distortions] take.
const DistortionBytes = scheme.DistortionBytes

// Distortions are the sums of a tensor's blocks, in memory of the caller. The sums of
// blocks are added in order, so that any number of workers gets the same bits.
type Distortions = scheme.Distortions

// NewDistortions stores the blocks in memory.
func NewDistortions(memory []byte) Distortions { return scheme.NewDistortions(memory) }

// Targets lists the stored forms that schemes write, in the order of the table.
func Targets() (all []*encode.Target) {
	for _, list := range targets {
		all = append(all, list...)
	}
	return all
}

// TargetNamed returns the stored form that a scheme writes under a name.
func TargetNamed(name string) (*encode.Target, bool) {
	for _, t := range Targets() {
		if t.Name == name {
			return t, true
		}
	}
	return nil, false
}
