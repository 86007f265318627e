package zip_test

import (
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

// Each honest file charges what testdata/charges.txt says, and ends with each charge or read that fails.
func TestHonestFilesChargeWhatIsWritten(t *testing.T) {
	corpustest.Accepted(t, "zip", 8, func(b *limits.Budget, r io.ReaderAt, size int64) (func(*limits.Budget) error, error) {
		f, err := zip.Decode(b, r, size, zip.Options{})
		if err != nil {
			return nil, err
		}
		return f.Verify, nil
	})
}
