package scheme

import (
	"cmp"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Scheme is everything known about one way to store weights. Bind recognizes the main
// tensor of a weight by name, type, shape, companions and configuration, and binds its
// parts. It returns nil for a tensor that is not of the scheme, and an error for one that
// is but cannot be read. At most one scheme of each priority binds a tensor.
type Scheme struct {
	Name    string
	Stores  string   // what it covers
	Oracle  string   // the library whose decoder it is compared with, bit for bit
	Goldens []string // patterns of folders of quant/*/testdata that this library wrote
	Bind    func(*Set, *tensor.Info) (*Weight, error)

	Declares Declaration
	Priority int      // if two bind a tensor, the higher one decides
	Methods  []Method // values of quant_method that stand for it
	Mains    []Main
	Scales   []string // suffixes of scales and zero points, which may be stored in types of codes
	Marks    []string // suffixes that only its models have; such tensors may hold codes in any type
	Meta     []string // metadata keys that describe quantization; a final * matches any rest
	Endings  []string // what publishers append to a model's name

	Linear    bool   // replaces every linear layer, transformers' Conv1D too
	Stacked   bool   // keeps experts in stacks that transformers stores in another form
	Described bool   // metadata describes each weight by name
	As        string // the value of [Options].As that asks for its library's own arithmetic
	Joint     bool   // several weights may have the same scales or zero points
	Cache     bool   // quantizes the attention's cache without a key that says so

	// Load reads what the scheme needs of a model, once; [Set].Kept has the result.
	Load func(*Set) (any, error)
	// Claims reports a tensor that is the scheme's although others would bind it by its type
	// or its shape alone: they ask [Set.Claimed].
	Claims func(*Set, *tensor.Info) bool
	// Left reports a tensor that only says how others are stored, and belongs to no weight.
	Left func(*tensor.Info) bool

	// Explains are suffixes of tensors beside a weight that do not affect its numbers.
	// Those with a leading dot follow the module's name, others the weight's whole name.
	Explains []string
	// Besides are parts that tensors which no scheme codes may have too.
	Besides []string
}

// A Declaration says what makes a tensor one of a scheme.
type Declaration uint8

const (
	ByTensors Declaration = iota // names, types and shapes of the tensors
	ByType                       // the type alone; no configuration contradicts it
	ByFile                       // metadata of the file, or a description beside the weight
	ByMethod                     // quant_method: the tensors alone are ambiguous
	ByGraph                      // an operator of the model, which names all tensors of the weight
)

// A Method is a value of quant_method, and the keys that such a configuration may have:
// paths from the quantization's object, joined by dots. A * is any one name, and a ** at
// the end everything below. The scheme either reads a key or decodes correctly whatever its
// value. A key whose value changes the numbers is listed with the values that are supported
// (key=a|b), or must be empty (key?). All other keys are refused.
type Method struct {
	Name  string
	Known []string
	// Columns says that a stack of matrices [E, in, out] has a scale for each column.
	Columns bool
}

// A Main is the name of a scheme's main tensor, and of the tensors beside it.
type Main struct {
	Codes string   // suffix of the name, "" for any name
	Parts []string // what replaces that suffix in the names of parts; the first must exist
	Only  bool     // only codes have such a name
}

// Stands reports whether a configuration's method may stand for the scheme.
func (r *Scheme) Stands(name string) bool {
	return slices.ContainsFunc(r.Methods, func(m Method) bool { return m.Name == name })
}

// Decides reports whether weights of the scheme say themselves how they are stored, so
// that no configuration contradicts them.
func (r *Scheme) Decides() bool {
	return r.Declares == ByType || r.Declares == ByGraph || r.Declares == ByFile && r.Priority > 0
}

// A Table is the rows, and data derived from them.
type Table struct {
	Rows      []*Scheme
	Asked     []*Scheme // the same by descending priority
	Methods   map[string]bool
	stacked   map[string]bool // the methods with [Method.Columns]
	scales    []string
	marks     []string
	Only      []Main
	Besides   []string // suffixes of companions of codes, after the tensor's own name
	Modules   []string // the same, after the name of its module
	Explained []string
	meta      []string
	Alone     []string // parts whose names unquantized models do not have
}

// NewTable returns the table of rows. marks and modules are names that the tensors of
// others have.
func NewTable(rows []*Scheme, marks, modules []string) *Table {
	t := &Table{Rows: rows, Asked: slices.Clone(rows), Methods: map[string]bool{}, stacked: map[string]bool{}}
	slices.SortStableFunc(t.Asked, func(a, b *Scheme) int { return cmp.Compare(b.Priority, a.Priority) })
	for _, r := range rows {
		t.scales = Union(t.scales, r.Scales)
		t.marks = Union(t.marks, r.Marks)
		t.Explained = Union(t.Explained, r.Explains)
		t.meta = Union(t.meta, r.Meta)
		for _, m := range r.Methods {
			t.Methods[m.Name] = m.Name != "" // an empty method contradicts nothing
			t.stacked[m.Name] = t.stacked[m.Name] || m.Columns
		}
		for _, m := range r.Mains {
			t.Alone = Union(t.Alone, m.alone())
			switch {
			case m.Only:
				if !slices.ContainsFunc(t.Only, func(o Main) bool { return o.Codes == m.Codes }) {
					t.Only = append(t.Only, m)
				}
			case m.Codes == "":
				t.Besides = Union(t.Besides, m.Parts)
			case m.Codes == ".weight":
				t.Modules = Union(t.Modules, m.Parts)
			}
		}
	}
	t.marks, t.Modules = Union(t.marks, marks), Union(t.Modules, modules)
	return t
}

// Union appends the elements of more that are not in list.
func Union(list, more []string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// EndsIn reports whether name has one of the suffixes.
func EndsIn(name string, ends []string) bool {
	return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(name, end) })
}

// IsScale reports whether a name is that of a scale or a zero point, which may be stored
// in types of codes.
func (t *Table) IsScale(name string) bool { return EndsIn(name, t.scales) }

// HoldsCodes reports whether a tensor may hold codes.
func (t *Table) HoldsCodes(i *tensor.Info) bool {
	return !plainTypes[i.DType] || EndsIn(i.Name, t.marks)
}

// plainTypes are the types in which no scheme stores codes, except under names of its
// own.
var plainTypes = map[tensor.DType]bool{
	tensor.Bool: true, tensor.F16: true, tensor.BF16: true, tensor.F32: true, tensor.F64: true, tensor.C32: true, tensor.C64: true,
	tensor.C128: true, tensor.I16: true, tensor.U16: true, tensor.I64: true, tensor.U64: true,
}

// Describes reports whether a metadata key describes quantization.
func (t *Table) Describes(key string) bool {
	return slices.ContainsFunc(t.meta, func(known string) bool {
		prefix, open := strings.CutSuffix(known, "*")
		return key == known || open && strings.HasPrefix(key, prefix)
	})
}

// Caches reports whether models of a method have scales of the attention's cache.
func (t *Table) Caches(method string) bool {
	return slices.ContainsFunc(t.Rows, func(r *Scheme) bool { return r.Cache && r.Stands(method) })
}

// Under returns the keys that a configuration with this method may have. A configuration
// without a method may have those of any method, and so may all if the caller has decided
// the scheme.
func (r *Scheme) Under(t *Table, method string, decided bool) (known []string) {
	known = slices.Clone(AnyKeys)
	for _, m := range r.Methods {
		if m.Name == method || method == "" {
			known = append(known, m.Known...)
		}
	}
	if !decided {
		return known
	}
	for _, other := range t.Rows {
		for _, m := range other.Methods {
			if m.Name == method {
				known = append(known, m.Known...)
			}
		}
	}
	return known
}

// AnyKeys may be in every configuration: its writer, and the modules that are not
// converted.
var AnyKeys = []string{
	"quant_method", "version", "modules_to_not_convert", "modules_to_convert", "ignored_layers", "ignore", "exclude", "exclude_modules", "dequantize",
	"activation_scheme", "activation_scale_ub", "producer.**", "packed_modules_mapping.**", "is_checkpoint_fp8_serialized",
	"kv_cache_scheme", "kv_cache_scheme.**", "kv_cache_quant_algo", "kv_cache_quant_config", "kv_cache_quant_config.**", "kv_cache_dtype",
}
