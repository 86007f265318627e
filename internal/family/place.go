package family

import (
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

type stackKey struct {
	name  int
	layer int64
	bias  bool
}

// A location is the mapping, layer and expert that a tensor belongs to.
type location struct {
	name   *mapping
	index  int // of the mapping in its list
	view   int // index into the mapping's views
	outer  bool
	layer  int64
	expert int64 // -1 for none
	bias   bool
}

// beforeExpert is what comes before the number of an expert.
var beforeExpert = []string{".experts."}

// matrices returns how many matrices become one tensor: the experts, if the mapping does not say.
func (c *config) matrices(n *mapping) int64 {
	if n.of != nil {
		return n.of(c)
	}
	return c.experts()
}

// locate returns the location of a name of transformers.
func (p *planner) locate(full string) (location, bool) {
	r := p.c.row
	full = p.c.rowName(full)
	at := location{expert: -1, outer: true}
	list, rest := r.outer, full
	for _, one := range p.c.towers() {
		if n, tail, ok := numbered(full, one.layer); ok {
			at.outer, at.layer, list, rest = false, one.number(p.c, n), r.layers(), tail
		}
	}
	for _, stem := range slices.Concat(beforeExpert, r.naming.numbered) {
		i := strings.Index(rest, stem)
		if i < 0 {
			continue
		}
		number, tail, _ := strings.Cut(rest[i+len(stem):], ".")
		if n, ok := index(number); ok {
			at.expert, rest = n, rest[:i]+stem+"*."+tail
		}
	}
	stem := strings.TrimSuffix(rest, ".weight")
	if s, ok := strings.CutSuffix(rest, ".bias"); ok {
		stem, at.bias = s, true
	}
	for i := range list {
		n := &list[i]
		if whole := n.noSuffix && n.hf == rest; whole || n.hf == stem && n.noSuffix == (stem == rest) {
			at.name, at.index, at.bias = n, i, at.bias && !whole
			if at.exists(p.c) {
				break
			}
		}
	}
	return at, at.name != nil
}

// numbered splits a name into the number of its layer and the rest.
func numbered(full, layer string) (n int64, rest string, ok bool) {
	before, after, _ := strings.Cut(layer, "#")
	tail, ok := strings.CutPrefix(full, before)
	if !ok {
		return 0, "", false
	}
	number, rest, _ := strings.Cut(tail, after)
	n, ok = index(number)
	return n, rest, ok
}

// index parses the number of a layer or an expert.
func index(s string) (int64, bool) {
	n, err := strconv.ParseUint(s, 10, 16)
	return int64(n), err == nil && strconv.FormatUint(n, 10) == s
}

// shape returns the shape that the configuration gives a tensor.
func (p *planner) shape(at *location) ([]int64, error) {
	if at.name.shapeOf != nil {
		list := at.name.shapeOf(p.c, at.layer)
		if at.bias {
			list = list[:1]
		}
		return list, nil
	}
	sizes := at.name.shape
	if at.bias {
		sizes = sizes[:1]
		if at.name.op == transpose {
			sizes = at.name.shape[1:2]
		}
	}
	list, err := limits.Make[int64](p.b, len(sizes))
	for i := range list {
		list[i] = sizes[i](p.c)
	}
	return list, err
}

func sameShape(is, want []int64) error {
	same := len(is) == len(want)
	for i := 0; same && i < len(is); i++ {
		same = is[i] == want[i]
	}
	if !same {
		return wire.ErrMismatch.Errorf("its shape is %v, but the configuration gives %v", is, want)
	}
	return nil
}

// target returns the name in llama.cpp.
func (p *planner) target(at *location) string {
	s, naked := at.name.gguf, at.name.ggufNoSuffix
	if len(at.name.views) > 0 {
		s, naked = at.name.views[at.view].gguf, at.name.views[at.view].noSuffix
	}
	if at.name.ggufNumber != nil {
		s = strings.Replace(s, "#", itoa(at.name.ggufNumber(p.c)), 1)
	}
	if !at.outer {
		_, prefix, number := p.c.tower(at.layer)
		s = prefix + "blk." + itoa(number) + "." + s
	}
	switch {
	case naked:
		return s
	case at.bias:
		return s + ".bias"
	case strings.HasSuffix(s, ".bias"), strings.Contains(s, ".weight"):
		return s
	}
	return s + ".weight"
}

// alwaysWide are suffixes of matrices that llama.cpp always stores in F32.
var alwaysWide = []string{"ffn_gate_inp.weight", "indexer.proj.weight", "ffn_gate_inp_shexp.weight", "position_embd.weight", "token_types.weight", "_norm.weight", "shortconv.conv.weight", "ssm_conv1d.weight", "ssm_conv1d_q.weight", "ssm_conv1d_k.weight", "ssm_conv1d_v.weight", "altup_correct_coef.weight", "altup_predict_coef.weight",
	"v.patch_embd.weight", "mm.patch_merger.weight", "mm.input_projection.weight"}

// stored returns the type of a tensor in llama.cpp: F32 for vectors and the matrices of
// alwaysWide, else the type it has.
func stored(name string, dimensions int, from tensor.DType) tensor.DType {
	if dimensions <= 1 || !strings.HasSuffix(name, ".weight") {
		return tensor.F32
	}
	for _, end := range alwaysWide {
		if strings.HasSuffix(name, end) {
			return tensor.F32
		}
	}
	return from
}

// Wide reports whether a tensor of llama.cpp is F32 whatever the model's type.
func Wide(i *tensor.Info) bool { return stored(i.Name, len(i.Shape), tensor.BF16) == tensor.F32 }

// exists reports whether the layer has the tensor.
func (at *location) exists(c *config) bool {
	return at.name.inLayer == nil || at.name.inLayer(c, at.layer)
}
