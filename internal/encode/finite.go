package encode

import "github.com/anamnesis-go/anamnesis/internal/wire"

// NotFinite says that a number cannot be quantized. It is of class unsupported.
type NotFinite struct {
	Index int64 // of the number, in the given range
	Value float32
}

func (e *NotFinite) Error() string {
	return e.Unwrap().Error()
}

// Unwrap returns the class.
func (e *NotFinite) Unwrap() error {
	return wire.ErrUnsupported.Errorf("element %d is %v, which codes with a scale cannot say", e.Index, e.Value)
}

// A RequantizeError refuses to quantize weights that are already quantized, which loses
// more than quantizing the original. [Options.Requantize] allows it.
type RequantizeError struct{ From, To string }

func (e *RequantizeError) Error() string { return e.Unwrap().Error() }

// Unwrap returns the class.
func (e *RequantizeError) Unwrap() error {
	return wire.ErrUnsupported.Errorf("it is already %s, and quantizing it again as %s loses more than quantizing the original", e.From, e.To)
}
