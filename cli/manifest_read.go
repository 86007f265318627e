package cli

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A manifestModel is a model in a manifest.
type manifestModel struct {
	Schema, Path, Model string
	Files               []manifestEntry
	Tensors             []manifestEntry
}

// A manifestEntry is a file or a tensor of a model.
type manifestEntry struct {
	Name, DType, SHA256 string
	Shape               []int64
}

const (
	// maxManifest bounds the text of a manifest; a million tensors take a fifth of it.
	maxManifest = 1 << 30
	// maxShapeText bounds the text of a shape.
	maxShapeText = 4 << 10
)

// errManifest is a text that is not a manifest.
var errManifest = errors.New("not a manifest of amn hash")

// A manifestReader reads the models of a manifest, which are JSON objects after each
// other. It charges what it keeps: a manifest comes from where the model comes from.
type manifestReader struct {
	b    *limits.Budget
	text *json.Decoder
}

func newManifestReader(b *limits.Budget, r io.Reader) *manifestReader {
	return &manifestReader{b, json.NewDecoder(io.LimitReader(r, maxManifest))}
}

// next returns the next model, or io.EOF.
func (r *manifestReader) next() (*manifestModel, error) {
	if err := r.delim('{'); err != nil {
		return nil, err
	}
	m := new(manifestModel)
	for r.text.More() {
		key, err := r.text.Token()
		if err != nil {
			return nil, errManifest
		}
		if err := r.member(m, key); err != nil {
			return nil, err
		}
	}
	if err := r.delim('}'); err != nil || m.Schema != "amn.digest/1" || m.Model == "" {
		return nil, errManifest
	}
	return m, nil
}

func (r *manifestReader) member(m *manifestModel, key json.Token) (err error) {
	switch key {
	case "schema":
		return r.value(&m.Schema)
	case "path":
		return r.value(&m.Path)
	case "model":
		return r.value(&m.Model)
	case "files":
		m.Files, err = r.entries()
		return err
	case "tensors":
		m.Tensors, err = r.entries()
		return err
	}
	return r.value(new(json.RawMessage))
}

// entries reads a list of files or tensors.
func (r *manifestReader) entries() (list []manifestEntry, err error) {
	if err := r.delim('['); err != nil {
		return nil, errManifest
	}
	for r.text.More() {
		var e struct {
			Name, DType, SHA256 string
			Shape               json.RawMessage
		}
		if err := r.value(&e); err != nil {
			return nil, err
		}
		kept := manifestEntry{Name: e.Name, DType: e.DType, SHA256: e.SHA256}
		if len(e.Shape) > maxShapeText || len(e.Shape) > 0 && json.Unmarshal(e.Shape, &kept.Shape) != nil {
			return nil, errManifest
		}
		if err := r.b.Alloc(int64(len(e.Name) + len(e.DType) + len(e.SHA256) + 8*cap(kept.Shape))); err != nil {
			return nil, wire.At("manifest", "", wire.NoOffset, err)
		}
		if list, err = limits.Append(r.b, list, kept); err != nil {
			return nil, wire.At("manifest", "", wire.NoOffset, err)
		}
	}
	if err := r.delim(']'); err != nil {
		return nil, errManifest
	}
	return list, nil
}

// value reads a value into v.
func (r *manifestReader) value(v any) error {
	if err := r.b.Step(1); err != nil {
		return err
	}
	if r.text.Decode(v) != nil {
		return errManifest
	}
	return nil
}

// delim reads a bracket. It returns io.EOF at the end of the text.
func (r *manifestReader) delim(want json.Delim) error {
	t, err := r.text.Token()
	if err == io.EOF {
		return err
	}
	if err != nil || t != want {
		return errManifest
	}
	return nil
}
