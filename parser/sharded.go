package parser

import (
	"io/fs"
	"path"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// openPTHIndex opens the checkpoints that pytorch_model.bin.index.json lists as one
// model.
func openPTHIndex(b *limits.Budget, fsys fs.FS, name string) (tensor.Model, error) {
	x, err := tensor.ReadIndex(b, fsys, name, "pth")
	if err != nil {
		return nil, err
	}
	set, names, err := tensor.OpenShards(b, fsys, path.Dir(name), x.Files, "pth", openPTH)
	if err != nil {
		return nil, err
	}
	if err := set.CheckIndex(b, x, names); err != nil {
		set.Close()
		return nil, err
	}
	return set, nil
}

// openPTHShards opens a set of checkpoints without an index as one model.
func openPTHShards(b *limits.Budget, fsys fs.FS, files []string) (tensor.Model, error) {
	sorted, err := tensor.SortShards("pth", files)
	if err != nil {
		return nil, err
	}
	set, _, err := tensor.OpenShards(b, fsys, ".", sorted, "pth", openPTH)
	if err != nil {
		return nil, err
	}
	return set, nil
}

func openPTH(b *limits.Budget, h *tensor.Handle) (tensor.Model, error) {
	f, err := pth.Decode(b, h, h.Size)
	if err != nil {
		return nil, err
	}
	f.Closer = h
	return f, nil
}
