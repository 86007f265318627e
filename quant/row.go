package quant

import (
	"cmp"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A scheme is all that is known of one way to store weights. Its bind recognizes
// the main tensor of a weight, by name, type, shape, companions and
// configuration, and binds its parts: it gives nil for a tensor that is not its
// own, and an error for one that is but cannot be read. Of one priority at most
// one scheme binds a tensor.
type scheme struct {
	name    string
	stores  string   // what it covers
	oracle  string   // whose decoder it is compared with, bit for bit
	goldens []string // folders of testdata/quant/schemes, as patterns, that its library wrote
	bind    func(*set, *tensor.Info) (*Weight, error)

	declares declaration
	priority int      // of two that bind a tensor the higher decides
	methods  []method // what a quant_method may be that stands for it
	mains    []main
	scales   []string // ends of names of scales and zero points, which may be stored in types of codes
	marks    []string // ends of names that only its models have: such a tensor may hold codes in any type
	meta     []string // metadata of a file that says how weights are quantized; * ends a prefix
	endings  []string // what publishers append to a model's name

	linear    bool // replaces every linear layer, transformers' Conv1D too
	stacked   bool // keeps experts in stacks that transformers has in another form
	described bool // the file's metadata describes each weight under its name
	cache     bool // quantizes the attention's cache without a key of the configuration that says so

	// explains are ends of names of tensors beside a weight that do not bear on its
	// numbers. Those that begin with a dot follow the module's name, others the
	// weight's whole name.
	explains []string
}

// A declaration is what makes a tensor one of a scheme's.
type declaration uint8

const (
	byTensors declaration = iota // names, types and shapes of the tensors
	byType                       // the type of the tensor alone, which no configuration contradicts
	byFile                       // metadata of the file, or a description beside the weight
	byMethod                     // the quant_method: without it the tensors say too little
)

// A method is a quant_method of configurations, and the keys that such a
// configuration may have for the scheme to be bound: paths from the
// quantization's object whose names are joined by dots. A * is any one name, and
// a ** at the end all that is below.
type method struct {
	name  string
	known []string
}

// A main is a name of a scheme's main tensor, and what stands beside it.
type main struct {
	codes string   // end of the name; nothing where it may be any
	parts []string // what parts have in place of that end; the first must be there
	only  bool     // such a name is of codes and of nothing else
}

// stands reports a configuration's method that may stand for the scheme.
func (r *scheme) stands(name string) bool {
	return slices.ContainsFunc(r.methods, func(m method) bool { return m.name == name })
}

// decides reports a scheme of weights that say themselves how they are stored: no
// configuration contradicts them.
func (r *scheme) decides() bool {
	return r.declares == byType || r.declares == byFile && r.priority > 0
}

// A table is the rows, and what follows from them.
type table struct {
	rows      []*scheme
	asked     []*scheme // the same, those of higher priority first
	methods   map[string]bool
	scales    []string
	marks     []string
	only      []main
	besides   []string // companions of codes: what follows the tensor's own name
	modules   []string // the same, following the name of its module
	explained []string
	meta      []string
	alone     []string // parts whose names unquantized models do not have
}

func newTable(rows []*scheme, others []*foreign) *table {
	t := &table{rows: rows, asked: slices.Clone(rows), methods: map[string]bool{}}
	slices.SortStableFunc(t.asked, func(a, b *scheme) int { return cmp.Compare(b.priority, a.priority) })
	for _, r := range rows {
		t.scales = union(t.scales, r.scales)
		t.marks = union(t.marks, r.marks)
		t.explained = union(t.explained, r.explains)
		t.meta = union(t.meta, r.meta)
		for _, m := range r.methods {
			t.methods[m.name] = m.name != "" // no method contradicts nothing
		}
		for _, m := range r.mains {
			t.alone = union(t.alone, m.alone())
			switch {
			case m.only:
				if !slices.ContainsFunc(t.only, func(o main) bool { return o.codes == m.codes }) {
					t.only = append(t.only, m)
				}
			case m.codes == "":
				t.besides = union(t.besides, m.parts)
			case m.codes == ".weight":
				t.modules = union(t.modules, m.parts)
			}
		}
	}
	for _, f := range others {
		t.marks = union(t.marks, f.names)
		t.modules = union(t.modules, f.modules)
	}
	return t
}

// union appends what is new.
func union(list, more []string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// endsIn finds the end of a name in a list.
func endsIn(name string, ends []string) bool {
	return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(name, end) })
}

// isScale reports a name of a scale or a zero point, which schemes store in types
// of codes too.
func (t *table) isScale(name string) bool { return endsIn(name, t.scales) }

// holdsCodes reports a tensor that may hold codes and no numbers.
func (t *table) holdsCodes(i *tensor.Info) bool {
	return !plainTypes[i.DType] || endsIn(i.Name, t.marks)
}

// plainTypes are those that no scheme keeps codes in, but under names of its own.
var plainTypes = map[tensor.DType]bool{
	tensor.Bool: true, tensor.F16: true, tensor.BF16: true, tensor.F32: true, tensor.F64: true, tensor.C32: true, tensor.C64: true,
	tensor.C128: true, tensor.I16: true, tensor.U16: true, tensor.I64: true, tensor.U64: true,
}

// describes reports a key of a file's metadata that says how weights are
// quantized.
func (t *table) describes(key string) bool {
	return slices.ContainsFunc(t.meta, func(known string) bool {
		prefix, open := strings.CutSuffix(known, "*")
		return key == known || open && strings.HasPrefix(key, prefix)
	})
}

// caches reports a method whose models have scales of the attention's cache.
func (t *table) caches(method string) bool {
	return slices.ContainsFunc(t.rows, func(r *scheme) bool { return r.cache && r.stands(method) })
}
