package hdf5_test

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/anamnesis-go/anamnesis/parser/hdf5"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Valid files with a dataset that cannot be read, or is not supported: the dataset is listed, and
// refused only when it is read. No judgement reads it.
func TestSomeDatasetsAreListedAndNotRead(t *testing.T) {
	data, err := os.ReadFile("../../corpus/valid/hdf5/chunks.h5")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what  string
		at    int // of what is written over the file
		bytes string
		name  string
		want  error
	}{
		{"a fill value that is undefined, of elements that were never written", 0x1803, "\x00", "later", wire.ErrUnsupported},
		{"gzip becomes SZIP", 0x3b8, "\x04", "w", wire.ErrUnsupported},
		{"gzip becomes N-bit", 0x3b8, "\x05", "w", wire.ErrUnsupported},
		{"gzip becomes scale-offset", 0x3b8, "\x06", "w", wire.ErrUnsupported},
		{"shuffle becomes LZF, before gzip", 0x3a0, "\x00\x7d", "w", wire.ErrUnsupported},
		{"nothing is changed", 0, "", "w", nil},
		{"nothing is changed", 0, "", "later", nil},
		{"nothing is changed", 0, "", "W", wire.ErrMissing},
	} {
		changed := bytes.Clone(data)
		copy(changed[c.at:], c.bytes)
		b := limitstest.Open(t, limits.Policy{})
		f, err := hdf5.Decode(b, bytes.NewReader(changed), int64(len(changed)))
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		if err := f.Verify(b); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		info := tensor.Info{Name: c.name}
		for i := range f.Tensors() {
			if i.Name == c.name {
				info = i
			}
		}
		r, err := f.Body(b, info)
		if err == nil {
			r.Close()
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: the dataset %s: %v, not %v", c.what, c.name, err, c.want)
		}
	}
}
