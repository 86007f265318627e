package scheme

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Sized allocates n elements, a number that the shapes of tensors decide. Only where an int has 32 bits
// may n be too large for one: shapes are below [maxElements].
func Sized[T any](b *limits.Budget, n int64) ([]T, error) {
	size, ok := wire.Int(uint64(n), wire.MaxSize)
	if !ok {
		return nil, &limits.Error{Axis: limits.SingleAlloc, Want: n, Left: 1<<31 - 1}
	}
	return limits.Make[T](b, size)
}
