package onnx

import (
	"cmp"
	"io"
	"strconv"

	pb "github.com/anamnesis-go/anamnesis/internal/protobuf"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Format is the name of the format in errors.
const Format = "onnx"

// causes are the messages about an encoding that is refused.
var causes = pb.Causes{
	Unknown: wire.ErrUnsupported.WithRule("onnx.field-unknown"),
	Twice:   wire.ErrDuplicate.WithRule("onnx.field-twice"),
	Type:    wire.ErrSyntax.WithRule("onnx.wire-type"),
	Varint:  wire.ErrOverflow.WithRule("onnx.varint"),
}

type stage uint8

const (
	stMessages  stage = iota // everything in the file
	stCalls                  // how large the model is once functions are in their place
	stSizes                  // tensors that operators make of constants
	stDomains                // operators that neither ONNX nor the file has
	stNames                  // names of the tensors, by scope
	stQuantized              // tensors that operators read as codes
	stDone
)

// A decoder reads one file. Its hooks collect what the messages hold.
type decoder struct {
	b     *limits.Budget
	steps limits.Steps
	read  *pb.Reader
	c     wire.Cursor
	stage stage
	out   *File

	scopes    []scope
	foreign   map[opName]int64 // of operators that are not ONNX's, with the offset of one
	functions map[opName]bool  // functions of the file
	files     map[string]int32 // files of external data, their places in out.External
	untracked int64            // the offset of an operator that was not kept, or 0
	operators []*operator      // those that read codes

	calls     calls
	sized     []sizing
	constants map[string]*folded   // by name
	formals   map[callName]*formal // of functions
	dry       bool                 // nothing is charged yet
	changed   bool                 // more is known of a value than before
	widens    bool                 // what changes is taken for unknown
	statics   map[string]*folded   // values that are no constants, of which the shape is known
	folded    int64                // bytes that operators make of constants
	looped    bool                 // a finding says that an operator loops
	unsized   bool                 // a finding says that a size is not known
}

// Decode reads the structure of a model of size bytes. Its external data are read after
// [File.Attach].
func Decode(b *limits.Budget, r io.ReaderAt, size int64) (*File, error) {
	b.Source(size)
	d := &decoder{
		b: b, steps: b.Steps(), read: pb.NewReader(b, "ONNX 1.23", causes), c: wire.NewCursor(b, Format, r, size), out: new(File),
		scopes: make([]scope, 1), foreign: map[opName]int64{}, functions: map[opName]bool{}, files: map[string]int32{},
		calls: calls{names: map[callName]int32{}, recent: map[int32]int{}, bodies: map[int32]bool{}}, constants: map[string]*folded{}, statics: map[string]*folded{}, formals: map[callName]*formal{},
	}
	d.out.File = tensor.File{Name: Format, Source: r}
	d.out.size = size
	if size == 0 {
		return nil, d.c.Fail("", wire.ErrTruncated.Errorf("the file is empty"))
	}
	for d.stage != stDone {
		if err := d.step(); err != nil {
			return nil, wire.At(Format, "", wire.NoOffset, err)
		}
	}
	return d.out, nil
}

func (d *decoder) step() error {
	if err := d.steps.Step(); err != nil {
		return err
	}
	switch d.stage {
	case stMessages:
		d.stage = stCalls
		return d.messages()
	case stCalls:
		d.stage = stSizes
		return d.expanded()
	case stSizes:
		d.stage = stDomains
		return d.charge()
	case stDomains:
		d.stage = stNames
		return d.reportDomains()
	case stNames:
		d.stage = stQuantized
		return d.names()
	case stQuantized:
		d.stage = stDone
		return d.quantized()
	default:
		panic("internal error: stage out of range")
	}
}

// messages reads the whole file.
func (d *decoder) messages() error {
	seen, err := d.read.Message(&d.c, newSchema(d), &modelProto{d: d})
	if err != nil {
		return err
	}
	for _, must := range [...]struct {
		field uint64
		what  string
	}{{1, "version of the format"}, {7, "graph"}, {8, "version of its operators"}} {
		if seen&(1<<must.field) == 0 {
			return d.c.FailAt("ModelProto", 0, wire.ErrMissing.WithRule("onnx.part-missing").Errorf("no %s", must.what))
		}
	}
	return nil
}

// A modelProto is a ModelProto.
type modelProto struct {
	pb.Ignore

	d         *decoder
	trainings int
}

// texts and numbers are the fields of a model that are metadata.
var (
	modelTexts   = map[uint64]string{2: "onnx.producer_name", 3: "onnx.producer_version", 4: "onnx.domain", 6: "onnx.doc_string"}
	modelNumbers = map[uint64]string{1: "onnx.ir_version", 5: "onnx.model_version"}
)

func (m *modelProto) Number(f, v uint64) error { return m.d.note(modelNumbers[f], int64(v)) }

func (m *modelProto) Text(f uint64, s string) error { return m.d.noteText(modelTexts[f], s) }

// Message records the scope of messages in a graph or a function.
func (m *modelProto) Message(f uint64, of pb.Hook) error {
	switch of := of.(type) {
	case *graphProto:
		m.d.scopes[of.scope].parent = 0
		return m.d.belongs(-1)
	case *functionProto:
		return m.d.within(of.scope, 0, of.label())
	case *trainingProto:
		m.trainings++
		if err := m.d.belongs(-1); err != nil {
			return err
		}
		return m.d.within(of.scope, 0, "training#"+strconv.Itoa(m.trainings-1))
	case *opsetProto:
		return m.d.noteOpset(of)
	case *metadataEntry:
		if of.keyValue.long {
			return nil
		}
		return m.d.noteText(of.key, of.value)
	}
	return nil
}

// An opsetProto is an OperatorSetIdProto.
type opsetProto struct {
	pb.Ignore

	domain  string
	version int64
}

func (o *opsetProto) Text(_ uint64, s string) error {
	o.domain = s
	return nil
}

func (o *opsetProto) Number(_, v uint64) error {
	o.version = int64(v)
	return nil
}

// noteOpset keeps the version of a set of operators.
func (d *decoder) noteOpset(o *opsetProto) error {
	domain, err := limits.String(d.b, []byte("onnx.opset."+cmp.Or(o.domain, "ai.onnx")))
	if err != nil {
		return wire.At(Format, "metadata", wire.NoOffset, err)
	}
	return d.note(domain, o.version)
}

// note keeps a pair of metadata; without a key it is dropped.
func (d *decoder) note(key string, value any) error {
	if key == "" {
		return nil
	}
	err := d.b.Items(1)
	if err == nil {
		d.out.meta, err = limits.Append(d.b, d.out.meta, pair{key, value})
	}
	return wire.At(Format, "metadata", wire.NoOffset, err)
}

// noteText is note for a text of the file, and for a key that may be one.
func (d *decoder) noteText(key, value string) error {
	if key == "" {
		return nil
	}
	key, err := limits.String(d.b, []byte(key))
	if err == nil {
		value, err = limits.String(d.b, []byte(value))
	}
	if err != nil {
		return wire.At(Format, "metadata", wire.NoOffset, err)
	}
	return d.note(key, value)
}

// A scope is a graph, a function, an operator or an attribute with tensors below it. The
// first is the model itself.
type scope struct {
	parent   int32
	label    string // "" if it adds nothing to a name
	constant bool   // an operator that is its only attribute
	values   bool   // a graph or a function, whose operators have inputs by name
}

// newScope opens a scope whose place its parent states later.
func (d *decoder) newScope(at *int32) (int32, error) {
	if *at > 0 {
		return *at, nil
	}
	var err error
	d.scopes, err = limits.Append(d.b, d.scopes, scope{})
	*at = int32(len(d.scopes) - 1)
	return *at, err
}

// within records the name of a scope and its offset.
func (d *decoder) within(s, parent int32, label string) error {
	if s == 0 {
		return nil
	}
	label, err := limits.String(d.b, []byte(label))
	d.scopes[s].parent, d.scopes[s].label = parent, label
	return wire.At(Format, "", wire.NoOffset, err)
}

// below is within for a scope in another one that may not be open yet.
func (d *decoder) below(s int32, parent *int32, label string) error {
	if s == 0 {
		return nil
	}
	p, err := d.newScope(parent)
	if err != nil {
		return wire.At(Format, "", wire.NoOffset, err)
	}
	return d.within(s, p, label)
}

// add keeps a tensor of a scope. label is its own name, which may be "".
func (d *decoder) add(e *entry, parent *int32, label string) error {
	s, err := d.newScope(parent)
	if err != nil {
		return wire.At(Format, "", e.at, err)
	}
	if e.label, err = limits.String(d.b, []byte(label)); err == nil {
		e.scope = s
		d.out.entries, err = limits.Append(d.b, d.out.entries, *e)
	}
	return wire.At(Format, "tensor "+wire.Quote(label), e.at, err)
}

// names makes the list of tensors, each with its name in the whole model.
func (d *decoder) names() error {
	f := d.out
	infos, err := limits.Make[tensor.Info](d.b, len(f.entries))
	if err != nil {
		return err
	}
	f.Infos = infos[:0]
	if f.index, err = wire.NewNameSet(d.b, len(f.entries), func(i int) string { return f.Infos[i].Name }); err != nil {
		return err
	}
	for i := range f.entries {
		e := &f.entries[i]
		name, err := d.path(e)
		if err != nil {
			return wire.At(Format, "", e.at, err)
		}
		f.Infos = append(f.Infos, e.info(name)) // the capacity suffices for all
		if _, added, err := f.index.Add(i); err != nil {
			return err
		} else if !added {
			return wire.At(Format, "tensor "+wire.Quote(name), e.at, wire.ErrDuplicate.WithRule("onnx.name-twice").Errorf("there is another tensor of this name, and loaders differ in which they take"))
		}
	}
	return nil
}

// path returns the name of a tensor: its own in the model's graph, and the way to it, with
// slashes, below.
func (d *decoder) path(e *entry) (string, error) {
	if d.scopes[e.scope].label == "" && d.scopes[e.scope].parent == 0 && e.label != "" {
		return e.label, nil
	}
	parts, size := 1, len(e.label)
	for s := e.scope; s > 0; s = d.scopes[s].parent {
		if err := d.steps.Step(); err != nil {
			return "", err
		}
		parts, size = parts+1, size+len(d.scopes[s].label)+1
	}
	name, err := limits.Make[byte](d.b, size)
	if err != nil {
		return "", err
	}
	end := size
	put := func(label string) {
		if label == "" {
			return
		}
		if end < size {
			end--
			name[end] = '/'
		}
		end -= len(label)
		copy(name[end:], label)
	}
	put(e.label)
	for s := e.scope; s > 0; s = d.scopes[s].parent {
		if !d.scopes[d.scopes[s].parent].constant { // its operator is called like the tensor
			put(d.scopes[s].label)
		}
	}
	return string(name[end:]), nil
}
