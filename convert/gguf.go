package convert

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// GGUF writes version 3, little endian. Names and keys that no architecture of llama.cpp
// has are written only with RawNames.
type GGUF struct{ RawNames bool }

// Name implements [Sink].
func (GGUF) Name() string { return gguf.Format }

// Stores implements [Sink].
func (GGUF) Stores(d tensor.DType) bool { _, ok := gguf.TypeOf(d); return ok }

// Layout implements [Sink].
func (g GGUF) Layout(b *limits.Budget, outs []Out, meta []Entry) (*Layout, error) {
	infos, err := infosOf(b, outs)
	if err != nil {
		return nil, err
	}
	entries, err := limits.Make[gguf.Entry](b, len(meta))
	if err != nil {
		return nil, err
	}
	for i, e := range meta {
		entries[i] = gguf.Entry{Key: e.Key, Value: e.Value}
	}
	p, err := gguf.Layout(b, infos, entries, gguf.Options{})
	if err != nil {
		return nil, err
	}
	l := &Layout{Size: p.Size, Offsets: p.Offsets, Head: []Patch{{0, p.Header}}}
	return l, g.loadable(b, l)
}

// loadable decodes the file as it will be, with its texts, and checks that it states an
// architecture of llama.cpp which has all of the tensors.
func (g GGUF) loadable(b *limits.Budget, l *Layout) error {
	b = b.Probe()
	defer b.Close()
	f, err := gguf.Decode(b, &preview{patches: [][]Patch{l.Head}}, l.Size)
	if err != nil {
		return unreadable(gguf.Format, err)
	}
	if err := parser.Verify(b, f); err != nil || g.RawNames {
		return unreadable(gguf.Format, err)
	}
	if _, ok := f.Get("general.architecture"); !ok {
		return wire.At(gguf.Format, "", wire.NoOffset,
			wire.ErrUnsupported.Errorf("llama.cpp does not load a file without the key general.architecture (set it and the keys of that architecture with %s); %s writes it anyway, for programs that take names as they are",
				wire.OptionMeta, wire.OptionRawNames))
	}
	for _, found := range f.Findings() {
		switch found.Code {
		case gguf.CodeTensor, gguf.CodeName, gguf.CodeWeight, gguf.CodeKeyKind:
			return wire.At(gguf.Format, found.Where, wire.NoOffset, wire.ErrUnsupported.Errorf("%s; %s writes it anyway, for programs that take names as they are", found.Text, wire.OptionRawNames))
		}
	}
	return nil
}

// fileTypes are general.file_type of what weights are decoded to: llama.cpp's
// LLAMA_FTYPE_ALL_F32, MOSTLY_F16 and MOSTLY_BF16.
var fileTypes = map[tensor.DType]uint32{tensor.F32: 0, tensor.F16: 1, tensor.BF16: 32}

// ggufMeta returns the keys of a GGUF source for the output: a single file with the
// default alignment and decoded weights.
func (p *Plan) ggufMeta() (meta []Entry, err error) {
	made := p.view.Told().Made // llama.cpp's converter writes the version whatever the types
	for k, v := range p.m.Meta() {
		switch {
		case strings.HasPrefix(k, "split."), k == "general.alignment":
			continue
		case len(p.Weights) > 0 && !made && k == "general.quantization_version":
			continue
		case len(p.Weights) > 0 && k == "general.file_type":
			v = fileTypes[p.o.Quant.Target.DType()]
		}
		if err := p.b.Hold(16); err != nil { // the value in its interface
			return nil, err
		}
		if meta, err = limits.Append(p.b, meta, Entry{Key: k, Value: v}); err != nil {
			return nil, err
		}
	}
	return meta, nil
}
