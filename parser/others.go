package parser

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// others returns a function that reads the other files of a format in the folder, one at
// a time.
func (d *folder) others(f *kind, name string) func(*limits.Budget, func(string, tensor.Model) error) error {
	return func(b *limits.Budget, each func(string, tensor.Model) error) error {
		list, err := fs.ReadDir(d, ".")
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
			return nil // the folder cannot be listed
		}
		if err != nil {
			return err
		}
		for _, e := range list {
			if err := b.Step(1); err != nil {
				return err
			}
			if e.IsDir() || e.Name() == name || byExt(e.Name()) != f {
				continue
			}
			if err := d.other(b, f, e.Name(), each); err != nil {
				return fmt.Errorf("file %s in the same folder: %w", wire.Quote(e.Name()), err)
			}
		}
		return nil
	}
}

func (d *folder) other(b *limits.Budget, f *kind, name string, each func(string, tensor.Model) error) error {
	b = b.Probe()
	defer b.Close()
	h, err := tensor.OpenFile(d, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a dangling link
	}
	if err != nil {
		return ignoreNotModel(err)
	}
	defer h.Close()
	m, err := f.decode(b, h, bare(h.Size))
	if err != nil {
		return ignoreNotModel(err)
	}
	return errors.Join(each(name, m), m.Close())
}

// ignoreNotModel returns nil if the error means that the file is not a model.
func ignoreNotModel(err error) error {
	if c := ClassOf(err); c == Limit || c == Internal {
		return err
	}
	return nil
}
