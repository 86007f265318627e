package parser

import (
	"io/fs"
	"path"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// openPTHIndex opens the checkpoints that pytorch_model.bin.index.json names, as
// one model.
func openPTHIndex(fsys fs.FS, name string, b *limits.Budget) (tensor.Model, error) {
	x, err := tensor.ReadIndex(fsys, name, "pth", b)
	if err != nil {
		return nil, err
	}
	set, names, err := tensor.OpenShards(fsys, path.Dir(name), x.Files, "pth", openPTH, b)
	if err != nil {
		return nil, err
	}
	if err := set.CheckIndex(x, names, b); err != nil {
		set.Close()
		return nil, err
	}
	return set, nil
}

// openPTHShards opens the checkpoints of a set without an index.
func openPTHShards(fsys fs.FS, files []string, b *limits.Budget) (tensor.Model, error) {
	sorted, err := tensor.SortShards("pth", files)
	if err != nil {
		return nil, err
	}
	set, _, err := tensor.OpenShards(fsys, ".", sorted, "pth", openPTH, b)
	if err != nil {
		return nil, err
	}
	return set, nil
}

func openPTH(h *tensor.Handle, b *limits.Budget) (tensor.Model, error) {
	f, err := pth.Decode(h, h.Size, b)
	if err != nil {
		return nil, err
	}
	f.Closer = h
	return f, nil
}
