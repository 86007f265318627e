package bnb

import (
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Type is a type in which bitsandbytes stores weights.
type Type uint8

// The types.
const (
	NF4 Type = iota
	FP4
	INT8
)

func (t Type) String() string { return Targets[t].Name }

// Targets are the forms that are written, by their [Type].
var Targets = []*encode.Target{
	NF4: {Name: "nf4", Library: library, Converts: []string{"bnb-nf4", "bnb_nf4", "nf4"}, Replaces: true, Nests: true, CheckBlock: checkBlock, New: layoutOf(NF4),
		Served: encode.Served{Method: library, Diffusers: "bitsandbytes_4bit"}},
	FP4: {Name: "fp4", Library: library, Converts: []string{"bnb-fp4", "bnb_fp4", "fp4"}, Replaces: true, Nests: true, CheckBlock: checkBlock, New: layoutOf(FP4),
		Served: encode.Served{Method: library, Diffusers: "bitsandbytes_4bit", TriedAs: "nf4"}},
	INT8: {Name: "int8", Library: library, Converts: []string{"bnb-int8", "bnb_int8"}, Replaces: true, New: layoutOf(INT8),
		Served: encode.Served{Method: library, Diffusers: "bitsandbytes_8bit"}},
}

// library is the library's name, also as other libraries know its method.
const library = "bitsandbytes"

func checkBlock(n int) error { return Quantizer{Block: n}.Check() }

// layoutOf returns the constructor of the quantizer of a type.
func layoutOf(t Type) func(encode.Choices) encode.Quantizer {
	return func(c encode.Choices) encode.Quantizer {
		return Layout{Type: t, Block: c.Block, Nested: c.Nested, Include: c.Include, Exclude: c.Exclude, Measure: c.Measure}
	}
}

// Layout stores weights as bitsandbytes does. The zero value is NF4 in blocks of 64.
type Layout struct {
	Type   Type
	Block  int  // numbers per scale, for the four-bit types; 0 is 64
	Nested bool // the scales are quantized too
	// Include and Exclude choose by name and override the rules; nil chooses none.
	Include, Exclude func(name string) bool
	// Measure compares each weight with its decoded encoding.
	Measure bool
}

// encoder encodes the weights of one model.
type encoder struct {
	encode.Linear

	o       Layout
	compute string // torch's name of the type that the modules compute in

	float32s *transformers.Float32s // parameters that are float32 in memory
}

// Check implements [encode.Quantizer].
func (o Layout) Check() error {
	switch err := (Quantizer{Block: o.block()}).Check(); {
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
func (o Layout) block() int {
	if o.Block == 0 {
		return 64
	}
	return o.Block
}

func (o Layout) Start(b *limits.Budget, m tensor.Model, opts *encode.Options) (encode.Encoder, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	o.Block = o.block()
	e := &encoder{Linear: encode.NewLinear(o.layout(), o.Measure, transformers.Rule{Include: o.Include, Exclude: o.Exclude}), o: o}
	if err := e.Begin(b, m, opts); err != nil {
		return nil, err
	}
	e.StoresAs(Targets[o.Type])
	e.float32s = transformers.Float32sOf(e.Type)
	e.BreaksAgain = transformers.BreaksAgain(e.Type)
	return e, nil
}

// Encode plans a weight.
func (e *encoder) Encode(w *scheme.Weight) (encode.Encoding, error) {
	one, err := e.Of(w)
	if err != nil {
		return nil, err
	}
	dtype := encode.TorchNames[e.Target]
	if floating(w.Parts[0].DType) && len(w.Parts) == 1 {
		dtype = encode.TorchTypes[w.Parts[0].DType]
	}
	if e.compute == "" {
		e.compute = dtype
	}
	if e.isFloat32(w) {
		dtype = encode.TorchNames[scheme.F32]
	}
	if e.Rule.Judge(w.Name, w.Shape).Transposed {
		if w, err = scheme.Transpose(w); err != nil {
			return nil, err
		}
		one.Source = w
	}
	enc, err := (&encoding{one, e}).of(dtype)
	if err != nil {
		return nil, err
	}
	return enc, e.Planned(w, enc)
}

// layout describes for people how weights are stored.
func (o Layout) layout() string {
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
