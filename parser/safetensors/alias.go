package safetensors

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// findAliases finds the aliases in the metadata. For each tensor of a tied group that it
// leaves out, safetensors.torch.save_model adds an entry from the name left out to the
// name kept.
func (d *decoder) findAliases() error {
	if d.shard {
		return nil
	}
	stored := func(yield func(string) bool) {
		for i := range d.h.Infos {
			if !yield(d.h.Infos[i].Name) {
				return
			}
		}
	}
	var err error
	d.h.aliases, err = findAliases(d.b, &d.h.Found, d.h.meta, stored)
	return d.fail(metadataKey, lengthSize, err)
}

// findAliases returns the entries whose key is not a stored tensor and whose value is
// one. An entry that looks like an alias of a tensor that is not stored gives a finding.
func findAliases(b *limits.Budget, found *tensor.Findings, meta []Entry, stored func(func(string) bool)) ([]Entry, error) {
	if len(meta) == 0 {
		return nil, nil
	}
	m, err := newMetadataTexts(b, meta)
	if err != nil {
		return nil, err
	}
	m.look(stored)
	var aliases, dangling []Entry
	for _, e := range meta {
		k, _ := m.set.Find(e.Key)
		v, _ := m.set.Find(e.Value)
		switch {
		case m.stored[k] || m.seen[k]: // several shards may have the same entry
		case m.stored[v]:
			aliases, err = limits.Append(b, aliases, e)
		case looksTied(e):
			dangling, err = limits.Append(b, dangling, e)
		}
		if err != nil {
			return nil, err
		}
		m.seen[k] = true
	}
	return aliases, reportDangling(b, found, dangling)
}

// metadataTexts holds every key and value of the metadata, so that the many names of
// tensors are looked up among these few texts.
type metadataTexts struct {
	set     *wire.NameSet // text i is the key of entry i/2 if i is even, else its value
	stored  []bool        // text i is the name of a stored tensor
	seen    []bool        // text i was the key of an alias already
	lengths uint64        // bit n is set if a text has n bytes modulo 64: excludes most tensors
}

func newMetadataTexts(b *limits.Budget, meta []Entry) (*metadataTexts, error) {
	text := func(i int) string {
		if i%2 == 0 {
			return meta[i/2].Key
		}
		return meta[i/2].Value
	}
	n := 2 * len(meta)
	set, err := wire.NewNameSet(b, n, text)
	if err != nil {
		return nil, err
	}
	marks, err := limits.Make[bool](b, 2*n)
	if err != nil {
		return nil, err
	}
	m := &metadataTexts{set: set, stored: marks[:n], seen: marks[n:]}
	for i := range n {
		if _, _, err := set.Add(i); err != nil {
			return nil, err
		}
		m.lengths |= 1 << (len(text(i)) % 64)
	}
	return m, nil
}

// look marks the texts that are names of stored tensors.
func (m *metadataTexts) look(stored func(func(string) bool)) {
	for t := range stored {
		if m.lengths>>(len(t)%64)&1 == 0 {
			continue
		}
		if i, ok := m.set.Find(t); ok {
			m.stored[i] = true
		}
	}
}

// looksTied reports whether an entry can only be meant as an alias: two dotted names with
// the same last part, such as lm_head.weight and model.embed_tokens.weight.
func looksTied(e Entry) bool {
	k, v := strings.LastIndexByte(e.Key, '.'), strings.LastIndexByte(e.Value, '.')
	return k > 0 && v > 0 && e.Key[k:] == e.Value[v:] && len(e.Key[k:]) > 1 && !strings.ContainsAny(e.Value, " /\n")
}

func reportDangling(b *limits.Budget, found *tensor.Findings, list []Entry) error {
	if len(list) == 0 {
		return nil
	}
	text := "is said to be tied to " + wire.Quote(list[0].Value) + ", which is not stored"
	if len(list) > 1 {
		text += "; so " + plural(len(list)-1, "more alias", "more aliases")
	}
	return found.Add(b, Format, tensor.Finding{
		Code: "safetensors.alias-dangling", Severity: tensor.Warning,
		Where: "alias " + wire.Quote(list[0].Key), Off: wire.NoOffset, Text: text,
	})
}
