package ollama

import (
	"errors"
	"io"
	"io/fs"
	"iter"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Decoder decodes one blob by its content: the parser that opens the name.
type Decoder func(*limits.Budget, io.ReaderAt, int64) (tensor.Model, error)

// keptOpen is how many blobs of a model stay open. A model with one blob per tensor has
// thousands; the others are opened for each read.
const keptOpen = 256

// Open reads the model that a name stands for. Its blobs are decoded by their
// content, with decode.
func Open(b *limits.Budget, store fs.FS, n Name, decode Decoder) (tensor.Model, error) {
	layers, err := Manifest(b, store, n)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = wire.At("ollama", wire.Quote(n.String()), wire.NoOffset, wire.ErrUsage.Errorf("no such model in the store: run ollama pull"))
		}
		return nil, err
	}
	m := &model{store: store}
	if err := m.load(b, layers, n, decode); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// A model reads the blobs of one name as one model.
type model struct {
	tensor.Sharded
	store fs.FS
	blobs []*blob
}

func (m *model) load(b *limits.Budget, layers []Layer, n Name, decode Decoder) error {
	count := map[string]int{}
	for _, l := range layers {
		count[l.Kind]++
	}
	where := wire.Quote(n.String())
	switch {
	case count[Model] > 0 && count[Tensor] > 0:
		return wire.At("ollama", where, wire.NoOffset, wire.ErrMismatch.WithRule("ollama.layers").Errorf("it has both a model layer and tensor layers"))
	case count[Model] == 0 && count[Tensor] == 0:
		return wire.At("ollama", where, wire.NoOffset, wire.ErrUnsupported.WithRule("ollama.no-weights").Errorf("it has no layer with weights: the model runs on a server"))
	}
	files := configs{}
	for _, l := range layers {
		var err error
		switch l.Kind {
		case Model, Tensor:
			err = m.add(b, l, decode)
		case JSON:
			if err = b.Items(1); err == nil && fs.ValidPath(l.Name) && l.Name != "." {
				files[l.Name] = file{m.store, l}
			}
		}
		if err != nil {
			return err
		}
	}
	m.Folder = files
	return m.unique(b)
}

// add decodes one blob. The tensor of a blob with one tensor may be called "data"; it
// gets the name of the layer.
func (m *model) add(b *limits.Budget, l Layer, decode Decoder) error {
	h, err := Blob(m.store, l)
	if err != nil {
		return err
	}
	r := &blob{store: m.store, layer: l, open: h}
	part, err := decode(b, r, l.Size)
	if err != nil {
		h.Close()
		return err
	}
	if len(m.blobs) >= keptOpen {
		r.open = nil
		h.Close()
	}
	if err := m.take(b, l, r, part); err != nil {
		return errors.Join(err, part.Close(), r.Close())
	}
	return nil
}

// take adds the model in a blob to the parts.
func (m *model) take(b *limits.Budget, l Layer, r *blob, part tensor.Model) (err error) {
	if l.Kind == Tensor && part.Format() != "safetensors" {
		return wire.At("ollama", "layer "+wire.Quote(l.Name), wire.NoOffset,
			wire.ErrMismatch.WithRule("ollama.layers").Errorf("a tensor layer holds %s", part.Format()))
	}
	if len(m.Parts) > 0 && part.Format() != m.Parts[0].Format() {
		return wire.At("ollama", "layer "+wire.Quote(l.Name), wire.NoOffset,
			wire.ErrMismatch.WithRule("ollama.layers").Errorf("one layer has %s, another %s", part.Format(), m.Parts[0].Format()))
	}
	if m.Parts, err = limits.Append(b, m.Parts, tensor.Model(renamedTensor{part, l})); err != nil {
		return err
	}
	m.blobs, err = limits.Append(b, m.blobs, r)
	return err
}

// renamedTensor is a blob whose one tensor has the name of its layer.
type renamedTensor struct {
	tensor.Model
	layer Layer
}

// Unwrap gives the blob's own model.
func (n renamedTensor) Unwrap() tensor.Model { return n.Model }

func (n renamedTensor) Tensors() iter.Seq[tensor.Info] {
	return func(yield func(tensor.Info) bool) {
		for i := range n.Model.Tensors() {
			if n.layer.Kind == Tensor && i.Name == "data" && n.Len() == 1 {
				i.Name = n.layer.Name
			}
			if !yield(i) {
				return
			}
		}
	}
}

// unique refuses a name that is in two blobs.
func (m *model) unique(b *limits.Budget) error {
	names, err := limits.Make[string](b, m.Len())
	if err != nil {
		return wire.At("ollama", "", wire.NoOffset, err)
	}
	names = names[:0]
	seen, err := wire.NewNameSet(b, m.Len(), func(i int) string { return names[i] })
	if err != nil {
		return wire.At("ollama", "", wire.NoOffset, err)
	}
	for i := range m.Tensors() {
		names = append(names, i.Name)
		if _, added, err := seen.Add(len(names) - 1); err != nil {
			return wire.At("ollama", "", wire.NoOffset, err)
		} else if !added {
			return wire.At("ollama", "tensor "+wire.Quote(i.Name), wire.NoOffset, wire.ErrDuplicate.WithRule("ollama.tensor-twice").Errorf("two blobs hold it"))
		}
	}
	return nil
}

// Verify checks the digest of every blob that holds weights, then the bodies.
func (m *model) Verify(b *limits.Budget) error {
	for _, r := range m.blobs {
		if err := Verify(b, r, r.layer); err != nil {
			return err
		}
	}
	for _, p := range m.Parts {
		if v, ok := p.(renamedTensor).Model.(tensor.Verifier); ok {
			if err := v.Verify(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close closes the parts, their blobs, and what Place was given.
func (m *model) Close() error {
	err := m.Sharded.Close()
	for _, r := range m.blobs {
		err = errors.Join(err, r.Close())
	}
	return err
}
