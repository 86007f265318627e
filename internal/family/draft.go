package family

import (
	"cmp"
	"encoding/binary"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Draft models predict tokens of a larger model, the target, from its hidden states. Their folders have no vocabulary:
// that of the target is written.

// draftVocab is the number of tokens that a draft model predicts.
func draftVocab(c *config) int64 {
	if n := c.int("draft_vocab_size"); n > 0 {
		return n
	}
	return Vocab(c)
}

// target returns the configuration of the target as one of this row, so that its members can be read.
func (c *config) target() *config {
	return &config{root: c.targetRoot, text: textConfig(c.targetRoot), row: new(row)}
}

// needTarget refuses a draft model without the folder of its target.
func (c *config) needTarget() error {
	switch {
	case !c.row.drafts():
		return nil
	case !c.targetRoot.There:
		return wire.ErrMissing.Errorf("%s drafts for another model, whose vocabulary and sizes it needs: name the folder of that model (%s)", wire.Quote(c.row.names[0]), wire.OptionTargetModel)
	}
	return nil
}

// drafts reports a row of draft models.
func (r *row) drafts() bool { return r.naming.drafted != "" }

// targetConfig returns the target's configuration, and refuses one without sizes.
func (k *keys) targetConfig() *config {
	t := k.c.target()
	if t.int("hidden_size") < 1 || t.int("num_hidden_layers") < 1 || t.int("vocab_size") < 1 {
		k.fail("hidden_size", k.c.targetRoot.Get("hidden_size"), "a size, nor num_hidden_layers and vocab_size, in the target's config.json")
	}
	return t
}

// numbersOf returns a list of numbers, each with more added.
func (k *keys) numbersOf(member string, v jsontree.Value, more int64) []int32 {
	list, err := limits.Make[int32](k.b, min(len(v.List()), maxLayers))
	k.err = cmp.Or(k.err, err)
	for i := range list {
		n, ok := v.List()[i].Int()
		if !ok || n < 0 || n > 1<<20 || len(v.List()) > maxLayers {
			k.fail(member, v, "a list of layers")
			return nil
		}
		list[i] = int32(n + more)
	}
	return list
}

// targetVocab adds the vocabulary of the target, read as the class that choose returns reads it.
func targetVocab(choose func(target *row) func(*keys) error) func(*keys) error {
	return func(k *keys) error {
		list := k.c.targetRoot.Get("architectures").List()
		own := textConfig(k.c.targetRoot).Get("architectures").List()
		if len(own) > 0 && !rootDecides(list) {
			list = own
		}
		if len(list) != 1 || k.find(list[0].String()) == nil {
			return wire.At(configName, "", wire.NoOffset, wire.ErrUnsupported.Errorf("the target's config.json names no architecture that is known"))
		}
		files := k.files
		defer func() { k.files = files }()
		k.files = k.o.Target
		return choose(k.find(list[0].String()))(k)
	}
}

// isDraftTable reports the table of a draft model's tokens.
func (p *planner) isDraftTable(name string) bool {
	return p.c.row.drafts() && strings.TrimPrefix(name, "model.") == p.c.row.naming.drafted
}

// draftTable plans the table from tokens of the draft to those of the target: stored as distances, written as
// numbers.
func (p *planner) draftTable(i *tensor.Info) error {
	n := draftVocab(p.c)
	if i.DType != tensor.I64 || len(i.Shape) != 1 || i.Shape[0] != n || i.Order != tensor.Little || i.Strides != nil {
		return wire.ErrMismatch.Errorf("the table of tokens is %s %v, and there are %d tokens", i.TypeName(), i.Shape, n)
	}
	r, direct := p.m.At(*i)
	if !direct {
		return wire.ErrUnsupported.Errorf("a table of tokens that cannot be read at an offset")
	}
	data, err := limits.Make[byte](p.b, int(8*n))
	if err != nil {
		return err
	}
	if err := wire.ReadFull(r, data, 0); err != nil {
		return err
	}
	all := Vocab(p.c)
	if p.c.row.naming.ofTarget {
		all = p.c.target().int("vocab_size")
	}
	if all > maxSize {
		return wire.ErrRange.Errorf("%d tokens", all)
	}
	seen, err := limits.Make[byte](p.b, int(all+7)/8)
	if err != nil {
		return err
	}
	for k := range n {
		if err := p.b.Step(1); err != nil {
			return err
		}
		to := int64(binary.LittleEndian.Uint64(data[8*k:]))
		if to < -k || to >= all-k {
			return wire.ErrRange.Errorf("token %d of the draft is beyond the %d of the target", k, all)
		}
		if to += k; seen[to/8]&(1<<(to%8)) != 0 {
			return wire.ErrDuplicate.Errorf("token %d of the target", to)
		}
		seen[to/8] |= 1 << (to % 8)
		binary.LittleEndian.PutUint64(data[8*k:], uint64(to))
	}
	return p.add(Tensor{Name: p.c.row.naming.drafted, DType: tensor.I64, Shape: []int64{n}, Data: data})
}
