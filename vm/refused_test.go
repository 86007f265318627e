package vm_test

import (
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/vm"
)

// Each recipe is refused with the class and at the place that it states.
func TestHostileRecipesAreRefusedWithClassAndPlace(t *testing.T) {
	corpustest.Refused(t, "pickle", 150, func(b *limits.Budget, r io.ReaderAt, size int64) (func(*limits.Budget) error, error) {
		g, err := vm.Load(b, r, 0, size)
		if err == nil && g.End() != size {
			err = wire.At("pickle", "", g.End(), wire.ErrTrailing)
		}
		return nil, err
	}, "nested-bytes-refused")
}
