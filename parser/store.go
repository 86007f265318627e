package parser

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/ollama"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// isStored reports whether a path is a name in a store of ollama.
func isStored(path string) bool { return strings.HasPrefix(path, ollama.Prefix) }

// openStored opens the model with a name, from the first store that has it.
func openStored(b *limits.Budget, path string) (tensor.Model, error) {
	d, n, err := storeOf(b, path)
	if err != nil {
		return nil, err
	}
	return openStore(b, d, n)
}

// storeOf opens the first store that has a name.
func storeOf(b *limits.Budget, path string) (*folder, ollama.Name, error) {
	n, err := ollama.ParseName(path)
	if err != nil {
		return nil, n, err
	}
	for _, dir := range ollama.Folders() {
		root, err := os.OpenRoot(dir)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue // the next one may have it
		}
		if err != nil {
			return nil, n, err
		}
		c := &confinedFolder{root: root}
		d := newFolder(b, c, c)
		if _, err := fs.Stat(d, n.Path()); errors.Is(err, fs.ErrNotExist) {
			d.Close()
			continue
		}
		return d, n, nil
	}
	return nil, n, wire.At("ollama", wire.Quote(n.String()), wire.NoOffset,
		wire.ErrUsage.Errorf("it is in no store: run ollama pull, or set OLLAMA_MODELS to the store's folder"))
}

// BesideWeights visits the layers of an "ollama:" name that are not the weights which Open
// returns: adapters, projectors, templates, licenses, configurations and layers of unknown
// kinds. A layer that cannot be opened is visited with its error. For other paths it visits
// nothing.
func BesideWeights(b *limits.Budget, path string, visit func(ollama.Layer, *tensor.Handle, error) error) error {
	if !isStored(path) {
		return nil
	}
	d, n, err := storeOf(b, path)
	if err != nil {
		return err
	}
	defer d.Close()
	layers, err := ollama.Manifest(b, d, n)
	if err != nil {
		return err
	}
	for _, l := range layers {
		if l.Kind == ollama.Model || l.Kind == ollama.Tensor {
			continue
		}
		if err := visitLayer(d, l, visit); err != nil {
			return err
		}
	}
	return nil
}

func visitLayer(store fs.FS, l ollama.Layer, visit func(ollama.Layer, *tensor.Handle, error) error) error {
	h, err := ollama.Blob(store, l)
	if err != nil {
		return visit(l, nil, err)
	}
	defer h.Close()
	return visit(l, h, nil)
}

// OpenStore opens a model of a store of ollama in a file system.
func OpenStore(b *limits.Budget, store fs.FS, n ollama.Name) (tensor.Model, error) {
	return guarded(b, "open", func() (tensor.Model, error) { return openStore(b, newFolder(b, store, nil), n) })
}

// openStore opens a model of a store, and closes the store with it.
func openStore(b *limits.Budget, d *folder, n ollama.Name) (tensor.Model, error) {
	done := false
	defer func() {
		if !done {
			d.Close()
		}
	}()
	m, err := ollama.Open(b, d, n, decode)
	if err != nil {
		return nil, err
	}
	if p, ok := m.(tensor.Placer); ok {
		p.Place(m.Configs(), d)
	}
	done = true
	return m, nil
}
