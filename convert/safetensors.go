package convert

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Safetensors writes files as the reference's Python writer does, byte for byte.
type Safetensors struct{}

// Name implements [Sink].
func (Safetensors) Name() string { return safetensors.Format }

// Stores implements [Sink].
func (Safetensors) Stores(d tensor.DType) bool { return safetensors.Stores(d) }

// Layout implements [Sink]. Only texts of the metadata are kept, because the format has
// nothing else.
func (Safetensors) Layout(b *limits.Budget, outs []Out, meta []Entry) (*Layout, error) {
	infos, err := infosOf(b, outs)
	if err != nil {
		return nil, err
	}
	var entries []safetensors.Entry
	for _, e := range meta {
		if text, ok := e.Value.(string); ok {
			if entries, err = limits.Append(b, entries, safetensors.Entry{Key: e.Key, Value: text}); err != nil {
				return nil, err
			}
		}
	}
	p, err := safetensors.Layout(b, infos, entries)
	if err != nil {
		return nil, err
	}
	return &Layout{Size: p.Size, Offsets: p.Offsets, Head: []Patch{{0, p.Header}}}, nil
}

// infosOf returns the outs as encoders take them.
func infosOf(b *limits.Budget, outs []Out) ([]tensor.Info, error) {
	infos, err := limits.Make[tensor.Info](b, len(outs))
	if err != nil {
		return nil, wire.At("convert", "", wire.NoOffset, err)
	}
	for i := range outs {
		infos[i] = outs[i].info()
	}
	return infos, nil
}
