package encode

import "github.com/anamnesis-go/anamnesis/parser/tensor"

// A Widener knows which tensors become float32 while the others keep their type.
type Widener interface {
	Widens(name string, was tensor.DType) bool
	NoteWidened(name string, was tensor.DType) error
}

// A WidenedTensor is stored as float32 because transformers computes with it in float32.
type WidenedTensor struct {
	Name string
	From tensor.DType
}
