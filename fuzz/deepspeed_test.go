package fuzz_test

import (
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/unpack"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/deepspeed"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// decodeDeepSpeed opens the checkpoint of ZeRO whose folder is in a ZIP archive.
func decodeDeepSpeed(b *limits.Budget, r io.ReaderAt, size int64) (tensor.Model, error) {
	files, err := unpack.Named("zip").Files(b, r, size, nil)
	if err != nil {
		return nil, err
	}
	m, err := deepspeed.Open(b, files, deepspeed.Latest)
	if err != nil {
		files.Close()
		return nil, err
	}
	m.(tensor.Placer).Place(files, files)
	return m, nil
}

// FuzzDeepSpeed tests that what is said of a checkpoint of ZeRO is the same twice, that its tensors are as
// long as they state, however their parts lie, that a refusal has a class, and that nothing stays charged.
func FuzzDeepSpeed(f *testing.F) {
	addSeeds(f, "deepspeed")
	f.Fuzz(func(t *testing.T, data []byte) { folderTwice(t, data, decodeDeepSpeed) })
}
