package vm_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/vm"
)

// Each honest pickle charges what testdata/charges.txt says, when it is loaded, scanned and listed, and
// ends with each charge or read that fails.
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

// Each hostile pickle charges what testdata/charges.txt says until a scan refuses it.
func TestHostilePicklesChargeWhatIsWritten(t *testing.T) {
	for _, r := range corpus.Hostile("pickle") {
		data := r.Bytes()
		if len(data) > 64<<10 {
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			ledger.Charges(t)
			vm.Scan(corpustest.Account(t, r.Policy), bytes.NewReader(data), 0, int64(len(data)))
		})
	}
}
