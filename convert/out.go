package convert

import (
	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// An Out is one tensor of the output.
type Out struct {
	encode.Out

	part int32 // the file of the source that it comes from
	file int32 // index of the output file
	off  int64 // offset of its first byte there
}

// info returns the out as sinks and encoders take it.
func (o *Out) info() tensor.Info {
	return tensor.Info{Name: o.Name, DType: o.DType, Shape: o.Shape, Span: tensor.Span{Len: o.Size}}
}
