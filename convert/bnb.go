package convert

import (
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
)

// A BnbType is a type in which bitsandbytes stores weights.
type BnbType uint8

// The types.
const (
	NF4 BnbType = iota
	FP4
	INT8
)

var bnbTypes = [...]string{"nf4", "fp4", "int8"}

func (t BnbType) String() string { return bnbTypes[t] }

// ParseBnbType reads the name of a type: nf4, fp4, int8.
func ParseBnbType(name string) (BnbType, bool) {
	i := slices.Index(bnbTypes[:], name)
	return BnbType(max(0, i)), i >= 0
}

// Bnb stores weights as bitsandbytes does. The zero value is NF4 in blocks of 64.
type Bnb struct {
	Type   BnbType
	Block  int  // numbers per scale, for the four-bit types; 0 is 64
	Nested bool // the scales are quantized too
	// Include and Exclude choose by name and override the rules; nil chooses none.
	Include, Exclude func(name string) bool
	// Measure compares each weight with its decoded encoding.
	Measure bool
}

// bnbEncoder encodes the weights of one model.
type bnbEncoder struct {
	linearEncoder

	o       Bnb
	compute string // torch's name of the type that the modules compute in

	float32s *transformers.Float32s // parameters that are float32 in memory
}

// Check implements [Quantizer].
func (o Bnb) Check() error {
	switch err := (bnb.Quantizer{Block: o.block()}).Check(); {
	case o.Type == INT8 && o.Nested:
		return wire.ErrUsage.Errorf("row scales cannot be quantized")
	case o.Type == INT8 && o.Block != 0:
		return wire.ErrUsage.Errorf("INT8 has one scale for each row, not for each block")
	case o.Type != INT8:
		return err
	}
	return nil
}

// block returns the block size, by default bitsandbytes' own.
func (o Bnb) block() int {
	if o.Block == 0 {
		return 64
	}
	return o.Block
}

func (o Bnb) start(b *limits.Budget, m tensor.Model, opts *Options) (encoder, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	o.Block = o.block()
	e := &bnbEncoder{linearEncoder: linearsIn(o.layout(), o.Measure, transformers.Rule{Include: o.Include, Exclude: o.Exclude}), o: o}
	if err := e.begin(b, m, opts); err != nil {
		return nil, err
	}
	e.format = o.Type.String()
	e.float32s = transformers.Float32sOf(e.Type)
	e.BreaksAgain = transformers.BreaksAgain(e.Type)
	return e, nil
}

// encode plans a weight.
func (e *bnbEncoder) encode(w *quant.Weight) (encoding, error) {
	one, err := e.encoding(w)
	if err != nil {
		return nil, err
	}
	dtype := torchNames[e.target]
	if floating(w.Parts[0].DType) && len(w.Parts) == 1 {
		dtype = torchTypes[w.Parts[0].DType]
	}
	if e.compute == "" {
		e.compute = dtype
	}
	if e.isFloat32(w) {
		dtype = torchNames[quant.F32]
	}
	if e.rule.Judge(w.Name, w.Shape).Transposed {
		if w, err = quant.Transpose(w); err != nil {
			return nil, err
		}
		one.w = w
	}
	enc, err := (&bnbEncoding{one, e}).of(dtype)
	if err != nil {
		return nil, err
	}
	return enc, e.planned(w, enc)
}

// torchTypes are the types of unquantized weights as torch names them.
var torchTypes = map[tensor.DType]string{tensor.F32: "float32", tensor.F16: "float16", tensor.BF16: "bfloat16"}

// layout describes for people how weights are stored.
func (o Bnb) layout() string {
	if o.Type == INT8 {
		return "INT8, one scale per row"
	}
	text := strings.ToUpper(o.Type.String()) + ", blocks of " + strconv.Itoa(o.block())
	if o.Nested {
		text += ", scales quantized"
	}
	return text
}

// floating are the types that bitsandbytes quantizes.
func floating(t tensor.DType) bool {
	return t == tensor.F32 || t == tensor.F16 || t == tensor.BF16
}
