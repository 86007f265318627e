package quant

import (
	"cmp"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A scheme is everything known about one way to store weights. bind recognizes the main
// tensor of a weight by name, type, shape, companions and configuration, and binds its
// parts. It returns nil for a tensor that is not of the scheme, and an error for one that
// is but cannot be read. At most one scheme of each priority binds a tensor.
type scheme struct {
	name    string
	stores  string   // what it covers
	oracle  string   // the library whose decoder it is compared with, bit for bit
	goldens []string // patterns of folders of testdata/quant/schemes that this library wrote
	bind    func(*set, *tensor.Info) (*Weight, error)

	declares declaration
	priority int      // if two bind a tensor, the higher one decides
	methods  []method // values of quant_method that stand for it
	mains    []main
	scales   []string // suffixes of scales and zero points, which may be stored in types of codes
	marks    []string // suffixes that only its models have; such tensors may hold codes in any type
	meta     []string // metadata keys that describe quantization; a final * matches any rest
	endings  []string // what publishers append to a model's name

	linear    bool // replaces every linear layer, transformers' Conv1D too
	stacked   bool // keeps experts in stacks that transformers stores in another form
	described bool // metadata describes each weight by name
	cache     bool // quantizes the attention's cache without a key that says so

	// explains are suffixes of tensors beside a weight that do not affect its numbers.
	// Those with a leading dot follow the module's name, others the weight's whole name.
	explains []string
}

// A declaration says what makes a tensor one of a scheme.
type declaration uint8

const (
	byTensors declaration = iota // names, types and shapes of the tensors
	byType                       // the type alone; no configuration contradicts it
	byFile                       // metadata of the file, or a description beside the weight
	byMethod                     // quant_method: the tensors alone are ambiguous
)

// A method is a value of quant_method, and the keys that such a configuration may have:
// paths from the quantization's object, joined by dots. A * is any one name, and a ** at
// the end everything below.
type method struct {
	name  string
	known []string
}

// A main is the name of a scheme's main tensor, and of the tensors beside it.
type main struct {
	codes string   // suffix of the name, "" for any name
	parts []string // what replaces that suffix in the names of parts; the first must exist
	only  bool     // only codes have such a name
}

// stands reports whether a configuration's method may stand for the scheme.
func (r *scheme) stands(name string) bool {
	return slices.ContainsFunc(r.methods, func(m method) bool { return m.name == name })
}

// decides reports whether weights of the scheme say themselves how they are stored, so
// that no configuration contradicts them.
func (r *scheme) decides() bool {
	return r.declares == byType || r.declares == byFile && r.priority > 0
}

// A table is the rows, and data derived from them.
type table struct {
	rows      []*scheme
	asked     []*scheme // the same by descending priority
	methods   map[string]bool
	scales    []string
	marks     []string
	only      []main
	besides   []string // suffixes of companions of codes, after the tensor's own name
	modules   []string // the same, after the name of its module
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
			t.methods[m.name] = m.name != "" // an empty method contradicts nothing
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

// union appends the elements of more that are not in list.
func union(list, more []string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// endsIn reports whether name has one of the suffixes.
func endsIn(name string, ends []string) bool {
	return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(name, end) })
}

// isScale reports whether a name is that of a scale or a zero point, which may be stored
// in types of codes.
func (t *table) isScale(name string) bool { return endsIn(name, t.scales) }

// holdsCodes reports whether a tensor may hold codes.
func (t *table) holdsCodes(i *tensor.Info) bool {
	return !plainTypes[i.DType] || endsIn(i.Name, t.marks)
}

// plainTypes are the types in which no scheme stores codes, except under names of its
// own.
var plainTypes = map[tensor.DType]bool{
	tensor.Bool: true, tensor.F16: true, tensor.BF16: true, tensor.F32: true, tensor.F64: true, tensor.C32: true, tensor.C64: true,
	tensor.C128: true, tensor.I16: true, tensor.U16: true, tensor.I64: true, tensor.U64: true,
}

// describes reports whether a metadata key describes quantization.
func (t *table) describes(key string) bool {
	return slices.ContainsFunc(t.meta, func(known string) bool {
		prefix, open := strings.CutSuffix(known, "*")
		return key == known || open && strings.HasPrefix(key, prefix)
	})
}

// caches reports whether models of a method have scales of the attention's cache.
func (t *table) caches(method string) bool {
	return slices.ContainsFunc(t.rows, func(r *scheme) bool { return r.cache && r.stands(method) })
}
