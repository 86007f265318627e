package quant

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Any reports whether a model may hold quantized weights: whether any tensor
// has a type or a name that a row of the table could take for a main tensor.
// Where it says no, [Plan] binds nothing, and costs what it costs for nothing.
func Any(m tensor.Model) bool {
	for i := range m.Tensors() {
		if holdsCodes(&i) {
			return true
		}
	}
	return false
}

// holdsCodes reports a tensor that may hold codes and no numbers.
func holdsCodes(i *tensor.Info) bool { return !plainTypes[i.DType] || mainName(i.Name) }

// plainTypes are those that no scheme keeps codes in, but under names of its own.
var plainTypes = map[tensor.DType]bool{
	tensor.Bool: true, tensor.F16: true, tensor.BF16: true, tensor.F32: true, tensor.F64: true, tensor.C32: true, tensor.C64: true,
	tensor.C128: true, tensor.I16: true, tensor.U16: true, tensor.I64: true, tensor.U64: true,
}

// mainName reports names of codes that may be stored as any type.
func mainName(name string) bool {
	for _, suffix := range [...]string{".qweight", ".compressed", ".codes", ".trellis", ".indices", ".Qidxs", ".dense_weights", ".tables2", "__nf4", "__fp4"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}
