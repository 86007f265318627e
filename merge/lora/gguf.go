package lora

import (
	"math"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// The keys of a GGUF adapter, as llama.cpp's llama-adapter.cpp reads them.
const (
	keyType         = "general.type"
	keyArchitecture = "general.architecture"
	keyAdapter      = "adapter.type"
	keyAlpha        = "adapter.lora.alpha"
)

// tokenEmbedding is the only weight whose matrices llama.cpp has in the opposite roles.
const tokenEmbedding = "token_embd.weight"

// readGGUF reads an adapter from a GGUF file.
func (a *adapter) readGGUF(b *limits.Budget, base tensor.Model) error {
	said := map[string]string{}
	a.alphaF32 = float32(math.NaN())
	for k, v := range a.Model.Meta() {
		if err := b.Items(1); err != nil {
			return err
		}
		text, _ := v.(string)
		switch k {
		case keyType, keyArchitecture, keyAdapter:
			said[k] = text
		case keyAlpha:
			f, ok := v.(float32)
			if !ok || f != f || math.IsInf(float64(f), 0) {
				return wire.At("gguf", "key "+wire.Quote(k), wire.NoOffset, wire.ErrRange.Errorf("it is not a finite f32"))
			}
			a.alphaF32 = f
		default:
			if strings.HasPrefix(k, "adapter.") {
				return wire.At("gguf", "key "+wire.Quote(k), wire.NoOffset, wire.ErrUnsupported.Errorf("it is unknown, and may change the meaning of the adapter"))
			}
		}
	}
	switch {
	case said[keyType] != "adapter" || said[keyAdapter] != "lora":
		return wire.ErrUnsupported.Errorf("%s is %s and %s is %s: an adapter has adapter and lora", keyType, wire.Quote(said[keyType]), keyAdapter, wire.Quote(said[keyAdapter]))
	case a.alphaF32 != a.alphaF32:
		return wire.ErrMissing.Errorf("key %s", keyAlpha)
	}
	for k, v := range base.Meta() {
		if text, _ := v.(string); k == keyArchitecture && text != said[keyArchitecture] {
			return wire.ErrMismatch.Errorf("the adapter is for %s, the base is %s", wire.Quote(said[keyArchitecture]), wire.Quote(text))
		}
	}
	return a.sortGGUF(b)
}

// sortGGUF pairs the matrices of a GGUF adapter.
func (a *adapter) sortGGUF(b *limits.Budget) error {
	at := map[string]*module{}
	for i := range a.Model.Tensors() {
		if err := b.Items(1); err != nil {
			return err
		}
		stem, part := strings.TrimSuffix(i.Name, ".lora_a"), partA
		if stem == i.Name {
			stem, part = strings.TrimSuffix(i.Name, ".lora_b"), partB
		}
		if stem == i.Name {
			return wire.ErrUnsupported.Errorf("tensor %s: names of an adapter must end with .lora_a or .lora_b", wire.Quote(i.Name))
		}
		m := at[stem]
		if m == nil {
			if err := b.Hold(int64(len(stem)) + 1024); err != nil {
				return err
			}
			m = &module{name: stem}
			at[stem] = m
			a.modules = append(a.modules, m)
		}
		m.part[part] = i // names are unique: the parser rejects duplicates
	}
	for _, m := range a.modules {
		if err := b.Step(1); err != nil {
			return err
		}
		if m.part[partA].Name == "" || m.part[partB].Name == "" {
			return m.in(wire.ErrMissing.Errorf("one of the two matrices"))
		}
	}
	return nil
}

// shapeGGUF returns the product of a module of a GGUF adapter.
func (a *adapter) shapeGGUF(m *module, w *tensor.Info) (*product, error) {
	wa, wb := m.part[partA].Shape, m.part[partB].Shape
	p := &product{a: m.part[partA], b: m.part[partB], batch: 1}
	n := len(w.Shape)
	if n < 2 || n > 3 || len(wa) != n || len(wb) != n {
		return nil, shapeError(m, w)
	}
	if n == 3 {
		p.batch = w.Shape[0]
		if wa[0] != p.batch || wb[0] != p.batch {
			return nil, shapeError(m, w)
		}
		wa, wb = wa[1:], wb[1:]
	}
	p.rows, p.cols = w.Shape[n-2], w.Shape[n-1]
	if m.name == tokenEmbedding {
		p.kind, p.rank = rowsOfA, wb[1]
		if wa[0] != p.rows || wa[1] != p.rank || wb[0] != p.cols || n != 2 {
			return nil, shapeError(m, w)
		}
	} else {
		p.kind, p.rank = plain, wa[0]
		if wb[0] != p.rows || wb[1] != p.rank || wa[1] != p.cols {
			return nil, shapeError(m, w)
		}
	}
	if p.rank == 0 {
		return nil, shapeError(m, w)
	}
	p.scale = float32(a.Weight)
	if a.alphaF32 != 0 {
		p.scale = float32(float32(a.Weight)*a.alphaF32) / float32(p.rank)
	}
	return p, nil
}
