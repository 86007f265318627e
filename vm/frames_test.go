package vm_test

import (
	"bytes"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/vm"
)

// A frame that ended before the pickle of an array does not hide the end of the file.
func TestAFileEndsAfterAnArrayOfObjects(t *testing.T) {
	for _, r := range corpus.Hostile("pickle") {
		if r.Name != "joblib-objects-after-frame" {
			continue
		}
		b := limits.Policy{}.Budget(t.Context())
		defer b.Close()
		data := r.Bytes()
		if err := vm.ScanPlain(b, bytes.NewReader(data), 0, int64(len(data))).Err; wire.ClassOf(err) != wire.Truncated {
			t.Errorf("%v", err)
		}
		for range vm.DisassemblePlain(b, bytes.NewReader(data), 0, int64(len(data))) {
		}
		return
	}
	t.Error("there is no such recipe")
}
