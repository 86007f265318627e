package fuzz_test

import (
	"bytes"
	"io"
	"reflect"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/hdf5"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

type hdf5File struct{}

func (hdf5File) Verify(*limits.Budget) error { return nil }
func (hdf5File) Close() error                { return nil }
func (hdf5File) findings() []string          { return nil }

// openHDF5 reads a file, whatever it begins with, and judges it with its attributes, as the
// gate does.
func openHDF5(b *limits.Budget, r io.ReaderAt, size int64) (opened, error) {
	w := b.Probe()
	_, err := hdf5.Check(w, r, size, func(hdf5.Text) error { return nil })
	w.Close()
	if err != nil {
		return nil, err
	}
	v, err := gate.Check(b, r, size, gate.Hint{Name: "file.h5"})
	if err != nil {
		return nil, err
	}
	defer v.Close()
	if v.Err != nil {
		return nil, v.Err
	}
	return hdf5File{}, nil
}

// FuzzHDF5 asks of a file: it is the same twice, what is refused has a class, its texts
// lie in it, and nothing stays charged.
func FuzzHDF5(f *testing.F) {
	addSeeds(f, "hdf5")
	f.Fuzz(func(t *testing.T, data []byte) {
		read := func() (*hdf5.File, int, error) {
			b := limits.Policy{MaxTotalBytes: 16 << 20, MaxSteps: 1 << 20}.Budget(t.Context())
			defer b.Close()
			w := b.Probe()
			texts := 0
			m, err := hdf5.Check(w, bytes.NewReader(data), int64(len(data)), func(x hdf5.Text) error {
				texts++
				return wire.ReadFull(x.Bytes, make([]byte, x.Bytes.Size()), 0)
			})
			w.Close()
			limitstest.NoLeak(t, b)
			if c := wire.ClassOf(err); err != nil && (c == wire.Internal || c == wire.OK) {
				t.Fatalf("%v: %v", c, err)
			}
			return m, texts, err
		}
		m, n, err := read()
		if again, n2, err2 := read(); !reflect.DeepEqual(m, again) || n != n2 || (err == nil) != (err2 == nil) {
			t.Fatalf("%v, then %v", err, err2)
		}
		if err == nil && (m.Tensors < 0 || m.Bytes < 0 || m.Elements < 0) {
			t.Errorf("%+v", m)
		}
	})
}
