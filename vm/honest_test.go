package vm_test

import (
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/vm"
)

// What honest pickles charge is written down, when they are loaded, scanned and listed, and no charge
// or read that fails is passed over.
func TestHonestPicklesChargeWhatIsWritten(t *testing.T) {
	corpustest.Accepted(t, "pickle", 250, func(b *limits.Budget, r io.ReaderAt, size int64) (func(*limits.Budget) error, error) {
		if _, err := vm.Load(b, r, 0, size); err != nil {
			return nil, err
		}
		return func(b *limits.Budget) error {
			for _, err := range vm.Disassemble(b, r, 0, size) {
				if err != nil {
					return err
				}
			}
			return vm.Scan(b, r, 0, size).Err
		}, nil
	})
}
