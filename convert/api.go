package convert

import "github.com/anamnesis-go/anamnesis/internal/encode"

// A Quantizer is a quantization target of a scheme, such as bnb.Layout of quant/bnb.
type Quantizer = encode.Quantizer

// Quantized describes what was done with the matrices of a model.
type Quantized = encode.Quantized

// A QuantizedWeight is a weight that was quantized.
type QuantizedWeight = encode.QuantizedWeight

// A KeptMatrix is a matrix that is not quantized.
type KeptMatrix = encode.KeptMatrix

// A WidenedTensor is stored as float32 because transformers computes with it in float32.
type WidenedTensor = encode.WidenedTensor

// A Loading says whether a library loads what is written.
type Loading = encode.Loading

// A LoadVerdict is what is known of a library and a format. The zero value is that nothing is.
type LoadVerdict = encode.LoadVerdict

// The verdicts.
const (
	LoadUnknown = encode.LoadUnknown
	LoadFails   = encode.LoadFails
	LoadRead    = encode.LoadRead
	LoadTried   = encode.LoadTried
)

// NotFinite says that a number cannot be quantized. It is of class unsupported.
type NotFinite = encode.NotFinite

// A RequantizeError refuses to quantize weights that are already quantized, which loses
// more than quantizing the original. [Options].Requantize allows it.
type RequantizeError = encode.RequantizeError

// Choices are what the caller decides of a target of quant.Targets.
type Choices = encode.Choices
