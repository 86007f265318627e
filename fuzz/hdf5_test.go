package fuzz_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/anamnesis-go/anamnesis/parser/hdf5"
)

// openHDF5 reads a file, whatever it begins with, and judges it with its attributes, as the
// gate does.
func openHDF5(b *limits.Budget, r io.ReaderAt, size int64) (opened, error) {
	w := b.Probe()
	_, err := hdf5.Decode(w, r, size)
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

type hdf5File struct{}

func (hdf5File) Verify(*limits.Budget) error { return nil }
func (hdf5File) Close() error                { return nil }
func (hdf5File) findings() []string          { return nil }

// FuzzHDF5 tests that what is said of a file is the same twice, that its datasets are as long
// as they state, at an offset as in order, that its texts lie in it, that a refusal has a class,
// and that nothing stays charged.
func FuzzHDF5(f *testing.F) {
	addSeeds(f, "hdf5")
	f.Fuzz(func(t *testing.T, data []byte) {
		read := func() string {
			b := limits.Policy{MaxTotalBytes: 16 << 20, MaxSteps: 1 << 20}.Budget(t.Context())
			defer b.Close()
			w := b.Probe()
			defer limitstest.NoLeak(t, b)
			defer w.Close()
			m, err := hdf5.Decode(w, bytes.NewReader(data), int64(len(data)))
			if err != nil {
				return classed(t, err)
			}
			if m.Elements < 0 || m.Bytes < 0 {
				t.Errorf("%d elements, %d bytes", m.Elements, m.Bytes)
			}
			texts := ""
			for x := range m.Texts() {
				p := make([]byte, x.Bytes.Size())
				if err := wire.ReadFull(x.Bytes, p, 0); err != nil {
					t.Fatalf("the text %q of %q at %#x: %v", x.Name, x.Of, x.Off, err)
				}
				texts += fmt.Sprintf("%q=%q ", x.Of+"@"+x.Name, p)
			}
			verified := "whole"
			if err := m.Verify(w); err != nil {
				verified = classed(t, err)
			}
			return fmt.Sprint(texts, verified, bodiesOf(t, w, m))
		}
		if first, again := read(), read(); first != again {
			t.Fatalf("%s, then %s", first, again)
		}
	})
}
