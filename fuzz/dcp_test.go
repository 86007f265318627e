package fuzz_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/unpack"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/dcp"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// decodeDCP opens the distributed checkpoint whose folder is in a ZIP archive.
func decodeDCP(b *limits.Budget, r io.ReaderAt, size int64) (tensor.Model, error) {
	files, err := unpack.Named("zip").Files(b, r, size, nil)
	if err != nil {
		return nil, err
	}
	m, err := dcp.Open(b, files, dcp.Index)
	if err != nil {
		files.Close()
		return nil, err
	}
	m.(tensor.Placer).Place(files, files)
	return m, nil
}

// FuzzDCP tests that what is said of a distributed checkpoint is the same twice, that its tensors are as
// long as they state, whether they are put together or not, that a refusal has a class, and that nothing
// stays charged.
func FuzzDCP(f *testing.F) {
	addSeeds(f, "dcp")
	f.Fuzz(func(t *testing.T, data []byte) { folderTwice(t, data, decodeDCP) })
}

// folderTwice reads a folder in a ZIP archive twice, and compares what is said of it.
func folderTwice(t *testing.T, data []byte, decode func(*limits.Budget, io.ReaderAt, int64) (tensor.Model, error)) {
	read := func() string {
		return probed(t, data, decode, func(w *limits.Budget, m tensor.Model) string {
			defer m.Close()
			verified := "whole"
			if err := m.(tensor.Verifier).Verify(w); err != nil {
				verified = classed(t, err)
			}
			return fmt.Sprint(verified, bodiesOf(t, w, m))
		})
	}
	if first, again := read(), read(); first != again {
		t.Fatalf("%s, then %s", first, again)
	}
}
