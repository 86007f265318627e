package parser

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// others reads the other files of a format in the folder, one at a time.
func (d *folder) others(f *format, name string) func(*limits.Budget, func(string, tensor.Model) error) error {
	return func(b *limits.Budget, each func(string, tensor.Model) error) error {
		list, err := fs.ReadDir(d, ".")
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
			return nil // no folder that can be listed
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

func (d *folder) other(b *limits.Budget, f *format, name string, each func(string, tensor.Model) error) error {
	b = b.Probe()
	defer b.Close()
	h, err := tensor.OpenFile(d, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a link to nothing
	}
	if err != nil {
		return unlessNone(err)
	}
	defer h.Close()
	m, err := f.decode(b, h, h.Size)
	if err != nil {
		return unlessNone(err)
	}
	return errors.Join(each(name, m), m.Close())
}

// unlessNone is nil for a file that no loader reads as a model.
func unlessNone(err error) error {
	if c := ClassOf(err); c == Limit || c == Internal {
		return err
	}
	return nil
}
