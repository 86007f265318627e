package mix

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Model is what the rules depend on in a model.
type Model struct {
	Arch    string // general.architecture
	Layers  int    // block_count
	Heads   int    // attention.head_count of the first layer
	KVShare int    // heads that share a key and a value: head_count / head_count_kv
	Experts int    // expert_count
	Matrix  bool   // an importance matrix was given
}

// A Tensor is a tensor of the model, and the type chosen for it.
type Tensor struct {
	Name  string
	Shape []int64 // outermost first: the last is the columns
	From  tensor.DType
	// To is the chosen type, From if the tensor is left alone.
	To tensor.DType
	// Fallback is the type whose blocks do not divide the columns, or Unknown.
	Fallback tensor.DType
}

// Options change the choice.
type Options struct {
	Pure           bool         // the base type for everything
	Output, Tokens tensor.DType // types of output.weight and token_embd.weight; Unknown asks the mix
	// Override gives the type of a tensor by name, or Unknown. It comes before the
	// rules.
	Override func(name string) tensor.DType
	// Listed counts tensors in the order of the list, as llama-quantize does where it
	// keeps the files of a split model, instead of by layer and name.
	Listed bool
}

// Choose gives each tensor its type, in the order in which the rules count, and
// leaves the list in it.
func Choose(b *limits.Budget, x Mix, m Model, o Options, list []Tensor) error {
	if !o.Listed {
		err := limits.Sort(b, list, func(a, b Tensor) int {
			return cmp.Or(cmp.Compare(layerOf(a.Name), layerOf(b.Name)), strings.Compare(a.Name, b.Name))
		})
		if err != nil {
			return err
		}
	}
	s := state{x: &x, m: &m, o: &o, tied: true}
	for i := range list {
		switch roleOf(list[i].Name) {
		case attnV:
			s.values++
		case output:
			s.tied = false
		}
	}
	for i := range list {
		if err := b.Step(1); err != nil {
			return err
		}
		t := &list[i]
		to, err := s.choose(t)
		if err != nil {
			return wire.At("gguf", "tensor "+wire.Quote(t.Name), wire.NoOffset, err)
		}
		t.To = to
	}
	return nil
}

// layerOf returns the number in "blk.N.", -1 without one.
func layerOf(name string) int {
	rest, ok := strings.CutPrefix(name, "blk.")
	if !ok {
		return -1
	}
	digits, _, ok := strings.Cut(rest, ".")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 {
		return -1
	}
	return n
}

type state struct {
	x      *Mix
	m      *Model
	o      *Options
	tied   bool // token embeddings are the output matrix too
	values int  // number of tensors of role attnV
	seen   [roles]int
}

func (s *state) choose(t *Tensor) (tensor.DType, error) {
	if !s.m.quantizes(t) {
		return t.From, nil
	}
	role := roleOf(t.Name)
	named := s.o.Override != nil && s.o.Override(t.Name) != tensor.Unknown
	switch {
	case role == tokens && s.o.Tokens != tensor.Unknown && !(named && t.Name != "token_embd.weight"):
		return s.o.Tokens, nil
	case role == output && s.o.Output != tensor.Unknown:
		return s.o.Output, nil
	}
	to := s.x.Base
	switch {
	case named:
		to = s.o.Override(t.Name)
	case !s.o.Pure:
		var err error
		if to, err = s.byRules(t, role, to); err != nil {
			return to, err
		}
	}
	return fallback(t, to)
}

// byRules returns the type by the rules, before columns are considered.
func (s *state) byRules(t *Tensor, role role, to tensor.DType) (tensor.DType, error) {
	if s.m.Arch == glm5Next && has(t.Name, []string{"attn_q_a", "attn_q_b", "nextn.eh_proj"}) {
		return tensor.Q8_0, nil
	}
	if role == output || role == tokens && s.tied {
		return s.ofOutput(t, to), nil
	}
	switch {
	case s.x.Name == moe:
		if s.isExperts(t, role) {
			return tensor.MXFP4, nil
		}
		return tensor.Q8_0, nil
	case role == tokens:
		return cmp.Or(s.x.tokens, to), nil
	}
	p, err := s.place(t, role, to)
	if err != nil {
		return to, err
	}
	list := rules[role]
	if s.x.low {
		list = lowRules[role]
	}
	to = s.x.apply(list, p)
	if role == attnV && !s.x.low {
		if s.m.seventyB() && (to == tensor.Q3_K || to == tensor.Q4_K) {
			to = tensor.Q5_K
		}
		if s.m.Experts == 8 {
			to = tensor.Q8_0
		}
	}
	return to, nil
}

// isExperts decides by the number of dimensions; one architecture has other stacks too.
func (s *state) isExperts(t *Tensor, role role) bool {
	if s.m.Arch == bailingMoE3 && role != ffnUp && role != ffnGate && role != ffnDown {
		return false
	}
	return len(t.Shape) > 2 && t.Shape[len(t.Shape)-3] > 1
}

// place counts the tensor. With experts, the matrices of the feed-forward part are
// counted by the layer in their names, since a layer may have any number of them.
func (s *state) place(t *Tensor, role role, to tensor.DType) (*place, error) {
	p := &place{m: s.m, i: s.seen[role], n: s.m.Layers, t: to}
	s.seen[role]++
	switch {
	case role == attnV:
		p.n = s.values
	case s.m.Experts > 1 && !s.x.low && (role == ffnDown || role == ffnGate || role == ffnUp):
		if p.i = layerOf(t.Name); p.i < 0 || p.i >= p.n {
			return nil, wire.ErrUnsupported.Errorf("it is in no layer from 0 to %d, on which the mix of a mixture of experts depends", p.n-1)
		}
	}
	return p, nil
}

func (m *Model) seventyB() bool {
	switch m.Arch {
	case "llama", "llama-embed":
		return m.Layers == 80 && m.KVShare != 1
	case "deci", "olmo", "qwen2":
		return m.Layers == 80
	case "jais2":
		return m.Layers == 68
	}
	return false
}

func (s *state) ofOutput(t *Tensor, to tensor.DType) tensor.DType {
	switch {
	case s.o.Output != tensor.Unknown:
		return s.o.Output
	case s.m.Arch == falconArch || !t.fits(to):
		return tensor.Q8_0
	}
	return cmp.Or(s.x.output, tensor.Q6_K)
}

func (t *Tensor) columns() int64           { return t.Shape[len(t.Shape)-1] }
func (t *Tensor) fits(d tensor.DType) bool { return t.columns()%blockOf(d) == 0 }

// blockOf returns the number of elements in a block of a type.
func blockOf(d tensor.DType) int64 {
	g, _ := d.Geometry()
	return max(1, int64(g.Elems))
}

// fallbacks are the types with blocks of 32, for columns that are not a multiple of 256.
var fallbacks = map[tensor.DType]tensor.DType{
	tensor.IQ1_S: tensor.IQ4_NL, tensor.IQ1_M: tensor.IQ4_NL, tensor.IQ2_XXS: tensor.IQ4_NL, tensor.IQ2_XS: tensor.IQ4_NL, tensor.IQ2_S: tensor.IQ4_NL,
	tensor.IQ3_XXS: tensor.IQ4_NL, tensor.IQ3_S: tensor.IQ4_NL, tensor.IQ4_XS: tensor.IQ4_NL,
	tensor.Q2_0: tensor.Q4_0, tensor.Q2_K: tensor.Q4_0, tensor.Q3_K: tensor.Q4_0, tensor.TQ1_0: tensor.Q4_0, tensor.TQ2_0: tensor.Q4_0,
	tensor.Q4_K: tensor.Q5_0, tensor.Q5_K: tensor.Q5_1, tensor.Q6_K: tensor.Q8_0,
}

func fallback(t *Tensor, to tensor.DType) (tensor.DType, error) {
	if t.fits(to) {
		return to, nil
	}
	t.Fallback = to
	small, ok := fallbacks[to]
	switch {
	case !ok && blockOf(to) > 32:
		return to, wire.ErrUnsupported.Errorf("rows of %d are not a whole number of blocks of %v, which has no smaller type to fall back to", t.columns(), to)
	case ok && t.fits(small):
		return small, nil
	}
	return tensor.F16, nil
}
