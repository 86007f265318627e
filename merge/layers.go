package merge

import (
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// An operand is one of the merged models.
type operand struct {
	name   string
	m      tensor.Model // row-major
	infos  []tensor.Info
	names  *wire.NameSet
	layers int64  // number of layers; -1 if there are several stacks
	stack  string // prefix of the layers' names, up to the number
}

// layerOf splits a name at its layer, the first part that is a number.
func layerOf(name string) (before string, layer int64, after string, ok bool) {
	for at := 0; at < len(name); {
		end := strings.IndexByte(name[at:], '.')
		if end < 0 {
			end = len(name) - at
		}
		part := name[at : at+end]
		if n, err := strconv.ParseUint(part, 10, 31); err == nil && strconv.FormatUint(n, 10) == part {
			return name[:at], int64(n), name[at+end:], true
		}
		at += end + 1
	}
	return name, 0, "", false
}

func layerName(stack string, layer int64, after string) string {
	return stack + strconv.FormatInt(layer, 10) + after
}

// list reads the tensors of a model, and finds its layers.
func (x *operand) list(b *limits.Budget) error {
	var err error
	if x.infos, err = limits.Make[tensor.Info](b, x.m.Len()); err != nil {
		return err
	}
	x.infos = x.infos[:0]
	if x.names, err = wire.NewNameSet(b, x.m.Len(), func(i int) string { return x.infos[i].Name }); err != nil {
		return err
	}
	for i := range x.m.Tensors() {
		x.infos = append(x.infos, i)
		if _, added, err := x.names.Add(len(x.infos) - 1); err != nil {
			return err
		} else if !added {
			return wire.ErrDuplicate.Errorf("tensor %s", wire.Quote(i.Name))
		}
		stack, n, _, ok := layerOf(i.Name)
		if !ok {
			continue
		}
		if err := b.Step(1); err != nil {
			return err
		}
		if x.layers > 0 && stack != x.stack {
			x.stack = "" // with several stacks, layers are ambiguous
			x.layers = -1
		}
		if x.layers >= 0 {
			x.stack, x.layers = stack, max(x.layers, n+1)
		}
	}
	return nil
}

// position returns the position of a tensor along the layers, from 0 for the first to 1 for
// the last.
func (x *operand) position(name string) float64 {
	stack, n, _, ok := layerOf(name)
	switch {
	case !ok || x.layers < 1 || stack != x.stack:
		return 0
	case x.layers == 1:
		return 1
	default:
		return float64(n) / float64(x.layers-1)
	}
}

// isEmbedding reports whether a name is that of an embedding, which precedes the layers.
func isEmbedding(name string) bool {
	for part := range strings.SplitSeq(strings.ToLower(name), ".") {
		if strings.Contains(part, "embed") || part == "wte" || part == "wpe" {
			return true
		}
	}
	return false
}
