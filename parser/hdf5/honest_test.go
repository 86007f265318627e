package hdf5_test

import (
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/hdf5"
)

// What honest files charge is written down, and no charge or read that fails is passed over.
func TestHonestFilesChargeWhatIsWritten(t *testing.T) {
	corpustest.Accepted(t, "hdf5", 8, func(b *limits.Budget, r io.ReaderAt, size int64) (func(*limits.Budget) error, error) {
		f, err := hdf5.Decode(b, r, size)
		if err != nil {
			return nil, err
		}
		return f.Verify, nil
	})
}
