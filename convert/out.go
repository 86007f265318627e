package convert

import "github.com/anamnesis-go/anamnesis/parser/tensor"

// An Out is one tensor of the output.
type Out struct {
	Name  string
	DType tensor.DType
	Shape []int64 // outermost dimension first
	Size  int64   // bytes

	part int32 // which of the source's files it comes of
	file int32 // which of the files it is in
	off  int64 // of its first byte there
}

// info is the out as sinks and encoders of formats take it.
func (o *Out) info() tensor.Info {
	return tensor.Info{Name: o.Name, DType: o.DType, Shape: o.Shape, Span: tensor.Span{Len: o.Size}}
}
