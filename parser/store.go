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

// isStored reports a name in a store of ollama, where a path is expected.
func isStored(path string) bool { return strings.HasPrefix(path, ollama.Prefix) }

// openStored opens the model that a name stands for, in the first store that
// knows it.
func openStored(b *limits.Budget, path string) (tensor.Model, error) {
	n, err := ollama.ParseName(path)
	if err != nil {
		return nil, err
	}
	for _, dir := range ollama.Folders() {
		root, err := os.OpenRoot(dir)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue // the next one may hold it
		}
		if err != nil {
			return nil, err
		}
		d := newFolder(b, root.FS(), root)
		if _, err := fs.Stat(d, n.Path()); errors.Is(err, fs.ErrNotExist) {
			d.Close()
			continue
		}
		return openStore(b, d, n)
	}
	return nil, wire.At("ollama", wire.Quote(n.String()), wire.NoOffset,
		wire.ErrUsage.With("no store holds it: run ollama pull, or set OLLAMA_MODELS to the store's folder"))
}

// openStore opens a model of one store, which it then owns.
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
