package npy_test

import (
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/npy"
)

func TestHostileArraysAreRefusedWithClassAndPlace(t *testing.T) {
	corpustest.Refused(t, "npy", 40, func(b *limits.Budget, r io.ReaderAt, size int64) (func(*limits.Budget) error, error) {
		_, err := npy.Decode(b, r, size)
		return nil, err
	})
}

func account(t testing.TB, policy []byte) *limits.Budget {
	t.Helper()
	return corpustest.Account(t, policy)
}
