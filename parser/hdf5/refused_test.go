package hdf5_test

import (
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/hdf5"
)

// Each recipe is refused with the class and at the place that it states.
func TestHostileRecipesAreRefusedWithClassAndPlace(t *testing.T) {
	corpustest.Refused(t, "hdf5", 90, func(b *limits.Budget, r io.ReaderAt, size int64) (func(*limits.Budget) error, error) {
		f, err := hdf5.Decode(b, r, size)
		if err != nil {
			return nil, err
		}
		return nil, bodies(b, f)
	}, "attribute-pickle", "list-objects")
}
