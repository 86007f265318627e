package parser

import (
	"errors"
	"io"
	"io/fs"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Folder is the files of a folder. No link leads out of it, except in the hub's cache to
// the blobs of its model.
type Folder struct {
	*folder
	// Path is its path; in the hub's cache, the path of the snapshot.
	Path string
}

// OpenFolder opens a folder to read its other files. The caller closes it.
func OpenFolder(b *limits.Budget, path string) (*Folder, error) {
	s, err := sourceAt(path)
	if err != nil {
		return nil, err
	}
	if s.entry.name != "." || s.folder == "" {
		return nil, wire.At(detection, "", wire.NoOffset, wire.ErrUsage.Errorf("it is not a folder"))
	}
	d, err := confine(b, s.folder, "", "")
	if err != nil {
		return nil, err
	}
	return &Folder{d, s.folder}, nil
}

// ConfigsFrom replaces the folder in which a model from Open, OpenFS or a Source finds its
// configuration and other sibling files. The model closes the folder.
func ConfigsFrom(b *limits.Budget, m tensor.Model, path string) error {
	p, ok := m.(tensor.Placer)
	if !ok {
		return wire.At(detection, "", wire.NoOffset, wire.ErrInternal.Errorf("model of %s takes no files", m.Format()))
	}
	d, err := OpenFolder(b, path)
	if err != nil {
		return err
	}
	own, ok := p.Placed().(*folder)
	if !ok { // a single file that was not opened by this package
		p.Place(d.folder, d.folder)
		return nil
	}
	own.closer = both{own.closer, d.folder}
	p.Place(d.folder, own)
	return nil
}

// both closes two things; the first may be nil.
type both struct{ a, b io.Closer }

func (c both) Close() error {
	if c.a == nil {
		return c.b.Close()
	}
	return errors.Join(c.a.Close(), c.b.Close())
}

// pipelineName is the file in which diffusers lists the components of a pipeline.
const pipelineName = "model_index.json"

// IsPipeline reports whether a folder is a pipeline of diffusers, in which each component
// is a folder of its own.
func IsPipeline(files fs.FS) bool {
	info, err := fs.Stat(files, pipelineName)
	return err == nil && info.Mode().IsRegular()
}
