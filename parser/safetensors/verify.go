package safetensors

import (
	"io"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// evaluatedNames are suffixes of tensors whose content HQQ passes to Python's eval
// (hqq/core/utils.py, decode_safetensor_type). It writes the name of a type there, such
// as "torch.float16".
var evaluatedNames = [...]string{"compute_dtype", "unpack_view_dtype"}

// maxTypeName bounds the length of the name of a type.
const maxTypeName = 64

// Verify reads the few tensors that a library evaluates as Python, and refuses what is
// not the name of a type.
func (f *File) Verify(b *limits.Budget) error { return VerifyTypes(b, f) }

// VerifyTypes does the same for a model of any format: HQQ stores such tensors in
// checkpoints too.
func VerifyTypes(b *limits.Budget, m tensor.Model) error {
	for info := range m.Tensors() {
		if err := b.Step(1); err != nil {
			return wire.At(m.Format(), "", wire.NoOffset, err)
		}
		for _, end := range evaluatedNames {
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

// typeName refuses a tensor that is not the name of a PyTorch type, one letter per
// element.
func typeName(b *limits.Budget, m tensor.Model, info *tensor.Info) error {
	refused := wire.ErrForbidden.WithRule("safetensors.expression").Errorf("HQQ evaluates it as Python, and it is not the name of a type")
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
	if !ok || strings.ContainsFunc(name, other) || !slices.ContainsFunc(typePrefixes, isNumber) {
		return refused
	}
	return nil
}

// typePrefixes are what the names of PyTorch's numeric types begin with.
var typePrefixes = []string{"float", "bfloat", "int", "uint", "complex", "bool"}
