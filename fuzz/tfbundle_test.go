package fuzz_test

import (
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/unpack"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/parser/tfbundle"
)

// decodeTFBundle opens the checkpoint of TensorFlow whose folder is in a ZIP archive: the one that a file called checkpoint
// names, else the first index.
func decodeTFBundle(b *limits.Budget, r io.ReaderAt, size int64) (tensor.Model, error) {
	files, err := unpack.Named("zip").Files(b, r, size, nil)
	if err != nil {
		return nil, err
	}
	name := "none" + tfbundle.Suffix
	for _, n := range files.Names() {
		if n == tfbundle.State {
			name = n
			break
		}
		if tfbundle.IsIndex(n) && name[:4] == "none" {
			name = n
		}
	}
	m, err := tfbundle.Open(b, files, name)
	if err != nil {
		files.Close()
		return nil, err
	}
	m.(tensor.Placer).Place(files, files)
	return m, nil
}

// FuzzTFBundle tests that what is said of a checkpoint of TensorFlow is the same twice, that its tensors are as
// long as they state, in parts or not, that a refusal has a class, and that nothing stays charged.
func FuzzTFBundle(f *testing.F) {
	addSeeds(f, "tfbundle")
	f.Fuzz(func(t *testing.T, data []byte) { folderTwice(t, data, decodeTFBundle) })
}
