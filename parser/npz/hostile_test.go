package npz_test

import (
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/npz"
)

func TestHostileArchivesOfArraysAreRefusedWithClassAndPlace(t *testing.T) {
	corpustest.Refused(t, "npz", 30, func(r io.ReaderAt, size int64, b *limits.Budget) (func(*limits.Budget) error, error) {
		a, err := npz.Decode(r, size, b)
		return a.Verify, err
	})
}

func account(t testing.TB, policy []byte) *limits.Budget {
	t.Helper()
	return corpustest.Account(t, policy)
}
