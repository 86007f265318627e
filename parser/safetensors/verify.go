package safetensors

import (
	"io"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// evaluated are ends of names of tensors that HQQ's loader runs as Python: it writes
// the name of a type there ("torch.float16"), and reads it with eval
// (hqq/core/utils.py, decode_safetensor_type).
var evaluated = [...]string{"compute_dtype", "unpack_view_dtype"}

// maxTypeName bounds the name of a type.
const maxTypeName = 64

// Verify reads the few tensors that a library takes for Python, and refuses what is
// no name of a type.
func (f *File) Verify(b *limits.Budget) error { return VerifyTypes(b, f) }

// VerifyTypes does so for a model of any format: HQQ keeps the same in checkpoints.
func VerifyTypes(b *limits.Budget, m tensor.Model) error {
	for info := range m.Tensors() {
		if err := b.Step(1); err != nil {
			return wire.At(m.Format(), "", wire.NoOffset, err)
		}
		for _, end := range evaluated {
			if info.Name != end && !strings.HasSuffix(info.Name, "."+end) {
				continue
			}
			if err := typeName(b, m, &info); err != nil {
				return wire.At(m.Format(), "tensor "+wire.Quote(info.Name), info.Span.Off, err)
			}
		}
	}
	return nil
}

// typeName refuses a tensor that is not the name of a type of PyTorch, a letter in
// each element.
func typeName(b *limits.Budget, m tensor.Model, info *tensor.Info) error {
	refused := wire.ErrForbidden.By("safetensors.expression").With("HQQ evaluates it as Python, and it is not the name of a type")
	if info.DType != tensor.U8 || info.Span.Len > maxTypeName {
		return refused
	}
	body, err := m.Body(b, *info)
	if err != nil {
		return err
	}
	defer body.Close()
	var text [maxTypeName]byte
	if _, err := io.ReadFull(body, text[:info.Span.Len]); err != nil {
		return err
	}
	name, ok := strings.CutPrefix(string(text[:info.Span.Len]), "torch.")
	other := func(c rune) bool { return c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') }
	isNumber := func(kind string) bool { return strings.HasPrefix(name, kind) }
	if !ok || strings.ContainsFunc(name, other) || !slices.ContainsFunc(numbers, isNumber) {
		return refused
	}
	return nil
}

// numbers are what the names of PyTorch's types begin with.
var numbers = []string{"float", "bfloat", "int", "uint", "complex", "bool"}
