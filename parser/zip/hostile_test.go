package zip_test

import (
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

func TestHostileArchivesAreRefusedWithClassAndPlace(t *testing.T) {
	corpustest.Refused(t, "zip", 35, func(r io.ReaderAt, size int64, b *limits.Budget) (func(*limits.Budget) error, error) {
		a, err := zip.Decode(r, size, b, zip.Options{})
		return a.Verify, err
	})
}

func account(t testing.TB, policy []byte) *limits.Budget {
	t.Helper()
	return corpustest.Account(t, policy)
}
