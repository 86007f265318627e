package encode

import (
	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Quantizer is a quantization target, such as [Bnb].
type Quantizer interface {
	// Check returns an error if options contradict each other.
	Check() error

	// Start prepares to encode a model. Quantized weights that are not encoded are
	// decoded to o.Target.
	Start(b *limits.Budget, m tensor.Model, o *Options) (Encoder, error)
}

// An Encoder chooses and encodes the weights of one model.
type Encoder interface {
	// Takes decides by name and shape what happens to a tensor.
	Takes(name string, shape []int64) (Verdict, error)
	Encode(*scheme.Weight) (Encoding, error)
	// Config returns the quantization_config of config.json, with the first line not
	// indented.
	Config() ([]byte, error)
	Result() *Quantized
}

// A Verdict says what happens to a tensor of a quantized model.
type Verdict uint8

const (
	DecodeIt Verdict = iota // or copied, if it is not quantized
	EncodeIt
	CopyIt // as it is stored
)

// Quantized describes what was done with the matrices of a model.
type Quantized struct {
	Layout  string // how weights are stored, for people
	Weights []QuantizedWeight
	Kept    []KeptMatrix // matrices that are left alone
	// Widened are tensors that become F32, although the other tensors have another type.
	Widened []WidenedTensor
	// Type is the model_type of config.json, or the architecture of a GGUF model. ByName
	// says that it is unknown, so that names decided which matrices are linear modules, or
	// which types they get.
	Type   string
	ByName bool
	// UnknownClass is the class that config.json names where the type is known and the class is
	// not: what all classes of the type say of a weight holds, and names decide where they differ.
	UnknownClass string
	// Guessed is how many matrices names decide of although the type is known, since no class
	// of it has them as transformers builds it by default. FirstGuessed is one.
	Guessed      int64
	FirstGuessed string
	// BreaksAgain is what stops transformers where it loads what it quantized and saved itself
	// in this format of a model of this type; empty where nothing is known to.
	BreaksAgain string
	// Loads says of each library that could load the result whether it does.
	Loads []Loading
}

// A QuantizedWeight is a weight that was quantized.
type QuantizedWeight struct {
	Name     string
	Type     tensor.DType // of the tensor that holds its codes
	Shape    []int64      // as it is stored
	Elements int64
	Before   int64 // bytes in the source, or decoded from it
	After    int64 // bytes of all parts
	// Instead is the type that the rules chose, if its blocks do not divide the columns and
	// Type replaced it; otherwise Unknown.
	Instead tensor.DType
	// Unweighed says that the given importance matrix has no numbers for this weight.
	Unweighed bool
	Zeroed    int64 // numbers that were not finite and became zeros, once the plan was written
	// Lost is the measured loss, once the plan was written. It is empty without Measure,
	// and if the scales of a row are quantized together with those of thousands of others.
	Lost scheme.Distortion
	// Weighed is the loss weighted by the importance of columns; empty without a matrix.
	Weighed scheme.Distortion

	From asm.Type // of its numbers, before it was quantized
}

// A KeptMatrix is a matrix that is not quantized.
type KeptMatrix struct {
	Name, Why string

	Reason transformers.Reason // transformers.None if Why is not a reason of the rule
}

// Lost sums up the measured loss of all weights, in order.
func (q *Quantized) Lost() scheme.Distortion {
	var d scheme.Distortion
	for i := range q.Weights {
		d.Merge(q.Weights[i].Lost)
	}
	return d
}

// Zeroed returns how many numbers became zero because they were not finite, and in how many
// weights.
func (q *Quantized) Zeroed() (numbers, weights int64) {
	for i := range q.Weights {
		if n := q.Weights[i].Zeroed; n > 0 {
			numbers, weights = numbers+n, weights+1
		}
	}
	return numbers, weights
}

// KeepsType notes a matrix of a type that is not decoded, and so not quantized.
func (q *Quantized) KeepsType(b *limits.Budget, i *tensor.Info) (err error) {
	q.Kept, err = limits.Append(b, q.Kept, KeptMatrix{Name: i.Name, Why: "numbers of " + i.DType.String()})
	return err
}
