package vm_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/vm"
)

// Pickles that the libraries wrote are as the class sets say, and those of which one member is
// changed are not. Each charges what testdata/charges.txt says.
func TestPicklesFitTheirClassSets(t *testing.T) {
	for folder, least := range map[string]int{"accepted": 25, "refused": 80} {
		files, err := filepath.Glob("../testdata/gate/classes/" + folder + "/*.pkl")
		if err != nil || len(files) < least {
			t.Fatal(files, err)
		}
		for _, path := range files {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(folder+"/"+strings.TrimSuffix(filepath.Base(path), ".pkl"), func(t *testing.T) {
				ledger.Charges(t)
				b := limits.Policy{}.Budget(t.Context())
				t.Cleanup(b.Close)
				r := vm.ScanPlain(b, bytes.NewReader(data), 0, int64(len(data)))
				if err := r.Refusal(); wire.ClassOf(err) != wire.Forbidden {
					t.Errorf("without the sets: %v", err)
				}
				if err := r.RefusalBut(func(e *vm.Event) bool { return e.Fits }); (err == nil) != (folder == "accepted") || err != nil && wire.ClassOf(err) != wire.Forbidden {
					t.Errorf("with the sets: %v", err)
				}
			})
			if folder == "refused" {
				continue
			}
			t.Run("damaged/"+strings.TrimSuffix(filepath.Base(path), ".pkl"), func(t *testing.T) {
				corpustest.Damaged(t, data, 2*corpustest.MostPlaces, func(data []byte) string {
					b := limits.Policy{}.Budget(t.Context())
					defer b.Close()
					r := vm.ScanPlain(b, bytes.NewReader(data), 0, int64(len(data)))
					return corpustest.Ending(t, r.RefusalBut(func(e *vm.Event) bool { return e.Fits }))
				})
			})
		}
	}
}
