package verify

import (
	"io"
	"slices"

	"github.com/anamnesis-go/anamnesis/digest"
	"github.com/anamnesis-go/anamnesis/internal/folder"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// hashFiles hashes the files of a model and its tensors.
func hashFiles(b *limits.Budget, m tensor.Model, list []fileDigest, o digest.Options) ([]fileDigest, []digest.Tensor, error) {
	files := make([]digest.File, len(list))
	for i, f := range list {
		files[i] = digest.File{Part: f.part, Open: func() (io.ReadCloser, error) { return openOf(m, &f) }}
	}
	tensors, err := digest.Whole(b, m, files, o)
	if err != nil {
		return nil, nil, err
	}
	list = slices.Clone(list)
	for i := range list {
		list[i].size, list[i].sum = files[i].Size, files[i].Sum
	}
	return list, tensors, nil
}

// openOf opens a file of a model once more, to read it from its beginning. It must be the one
// that the model has open.
func openOf(m tensor.Model, f *fileDigest) (io.ReadCloser, error) {
	r, err := folder.OpenRegular(f.path)
	if err != nil || f.part == digest.NoPart {
		return r, err
	}
	info, err := r.Stat()
	if err == nil && !parser.Reads(m, info) {
		err = wire.At("hash", "", wire.NoOffset, wire.ErrMismatch.WithRule("file.changed").Errorf("file %s was replaced while it was read", wire.Quote(f.name)))
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}
