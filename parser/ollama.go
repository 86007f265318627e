package parser

import (
	"errors"
	"io/fs"
	"os"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/ollama"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// openOllama opens a model by its name in the first store that holds it.
func openOllama(name string, b *limits.Budget) (tensor.Model, error) {
	n, err := ollama.ParseName(name)
	if err != nil {
		return nil, err
	}
	for _, dir := range ollama.Folders() {
		root, err := os.OpenRoot(dir)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue // the next store may hold it
		}
		if err != nil {
			return nil, err
		}
		if _, err := root.Stat(n.Path()); err != nil {
			root.Close()
			continue
		}
		m, err := ollama.Open(root.FS(), n, b, Decode)
		if err != nil {
			root.Close()
			return nil, err
		}
		return stored{m, root}, nil
	}
	return nil, wire.At("ollama", wire.Quote(n.String()), wire.NoOffset,
		wire.ErrUsage.With("no store holds it: run ollama pull, or set OLLAMA_MODELS to the store's folder"))
}

// stored closes the store with the model.
type stored struct {
	tensor.Model
	root *os.Root
}

func (s stored) Close() error { return errors.Join(s.Model.Close(), s.root.Close()) }

// Verify checks the digests of the blobs, then the bodies.
func (s stored) Verify(b *limits.Budget) error { return s.Model.(tensor.Verifier).Verify(b) }
