package convert

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
)

// An Edit changes metadata; its Apply is for [Options.Meta].
type Edit struct {
	Set    []Entry // a key that is there keeps its place, others follow in their order
	Delete []string
}

// ours reports whether a key describes the layout of a GGUF file, and so is set by the
// writer.
func ours(key string) bool { return key == "general.alignment" || strings.HasPrefix(key, "split.") }

// Check refuses an edit that contradicts itself, or that sets keys which the writer of the
// format sets.
func (e *Edit) Check(format string) error {
	var keys []string
	for _, s := range e.Set {
		keys = append(keys, s.Key)
	}
	for i, key := range append(keys, e.Delete...) {
		where := "key " + wire.Quote(key)
		switch {
		case slices.Contains(keys[:min(i, len(keys))], key) || i >= len(keys) && slices.Contains(e.Delete[:i-len(keys)], key):
			return wire.At("edit", where, wire.NoOffset, wire.ErrUsage.Errorf("it is named twice"))
		case key == "":
			return wire.At("edit", where, wire.NoOffset, wire.ErrUsage.Errorf("a key cannot be empty"))
		case format == gguf.Format && ours(key):
			return wire.At("edit", where, wire.NoOffset, wire.ErrUsage.Errorf("it describes the layout of the file: the writer sets it"))
		}
	}
	return nil
}

// Apply changes metadata. Deleting a key that does not exist is an error.
func (e *Edit) Apply(b *limits.Budget, meta []Entry) (out []Entry, err error) {
	defer func() { err = wire.At("edit", "", wire.NoOffset, err) }()
	out, err = limits.Clone(b, meta)
	if err != nil {
		return nil, err
	}
	at := func(key string) int { return slices.IndexFunc(out, func(m Entry) bool { return m.Key == key }) }
	for _, key := range e.Delete {
		i := at(key)
		if err := b.Step(int64(len(out)) + 1); err != nil {
			return nil, err
		}
		if i < 0 {
			return nil, wire.At("edit", "key "+wire.Quote(key), wire.NoOffset, wire.ErrUsage.Errorf("there is no key of that name to delete"))
		}
		out = slices.Delete(out, i, i+1)
	}
	for _, s := range e.Set {
		if err := b.Step(int64(len(out)) + 1); err != nil {
			return nil, err
		}
		if i := at(s.Key); i >= 0 {
			out[i] = s
		} else if out, err = limits.Append(b, out, s); err != nil {
			return nil, err
		}
	}
	return out, nil
}
