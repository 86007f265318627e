package npz_test

import (
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/npz"
)

func TestHostileArchivesOfArraysAreRefusedWithClassAndPlace(t *testing.T) {
	corpustest.Refused(t, "npz", 30, func(b *limits.Budget, r io.ReaderAt, size int64) (func(*limits.Budget) error, error) {
		a, err := npz.Decode(b, r, size)
		return a.Verify, err
	})
}

func account(t testing.TB, policy []byte) *limits.Budget {
	t.Helper()
	return corpustest.Account(t, policy)
}
