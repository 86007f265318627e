package zip_test

import (
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

func TestHostileArchivesAreRefusedWithClassAndPlace(t *testing.T) {
	corpustest.Refused(t, "zip", 35, func(b *limits.Budget, r io.ReaderAt, size int64) (func(*limits.Budget) error, error) {
		a, err := zip.Decode(b, r, size, zip.Options{})
		return a.Verify, err
	})
}

func account(t testing.TB, policy []byte) *limits.Budget {
	t.Helper()
	return corpustest.Account(t, policy)
}
