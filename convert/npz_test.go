package convert_test

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/parser/npz"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// An archive of numpy.savez is written again byte for byte, if its arrays are in the order in which
// they are written.
func TestArchivesAreWrittenAsByNumPy(t *testing.T) {
	files, err := filepath.Glob("../corpus/valid/npz/*.npz")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, path := range files {
		m, b := converttest.Open(t, path)
		f, ok := m.(*npz.File)
		if !ok || !savez(f) {
			continue
		}
		for _, threads := range []int{1, 3} {
			for _, tile := range []int{16, 64, 0} {
				got := converttest.Run(t, b, m, convert.Options{Sink: convert.NPZ{}, Threads: threads, Tile: tile})
				if !bytes.Equal(got, read(t, path)) {
					t.Errorf("%s, %d threads, tiles of %d: other bytes", path, threads, tile)
				}
			}
		}
		compared++
	}
	if compared < 2 {
		t.Errorf("only %d archives compared", compared)
	}
}

// savez reports an archive whose members are all arrays that this program writes
// as NumPy would.
func savez(f *npz.File) bool {
	for i := range f.Archive.Members {
		m := &f.Archive.Members[i]
		if m.Method != 0 || m.HeaderOff != 0 && m.HeaderOff == m.DataOff {
			return false
		}
	}
	plain := func(i tensor.Info) bool {
		return i.Strides == nil && i.Order == tensor.Little && (convert.NPZ{}).Stores(i.DType)
	}
	return len(f.Archive.Members) == f.Len() && !slices.ContainsFunc(slices.Collect(f.Tensors()), func(i tensor.Info) bool { return !plain(i) })
}
