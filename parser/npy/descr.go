package npy

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Type is an element type.
type Type struct {
	Descr  string // "<f4", or the list of fields as the header has it
	DType  tensor.DType
	Order  tensor.Order
	Size   int64 // bytes of one element
	Fields []Field
	note   note
}

// A Field is one field of a structured type. The padding between fields is not
// listed.
type Field struct {
	Name   string  `json:"name"`
	Title  string  `json:"title,omitempty"`
	Type   string  `json:"type,omitempty"`  // "<f4"; empty with Fields
	Shape  []int64 `json:"shape,omitempty"` // of a subarray
	Off    int64   `json:"offset"`          // in the element
	Size   int64   `json:"size"`            // bytes, the subarray's shape counted
	Fields []Field `json:"fields,omitempty"`
}

// Fields are the fields of a structured type as a value of metadata.
type Fields []Field

// Len is the number of fields, not counting those inside other fields.
func (f Fields) Len() int64 { return int64(len(f)) }

// A note is something that a reader of the type should know.
type note uint8

const (
	noteBF16     note = 1 << iota // V2
	noteE5M2                      // f1
	noteLost                      // V1
	noteUnknown                   // a kind or size that NumPy does not have
	noteNative                    // '='
	notePython2                   // 3L
	noteLongHead                  // a header that numpy.load refuses
)

// descr reads a type: a string, or a list of fields, for which Descr stays empty.
func (l *literal) descr() (Type, error) {
	start := l.mark()
	switch l.next() {
	case '\'', '"':
		s, err := l.typeName()
		if err != nil {
			return Type{}, err
		}
		t, err := parseType(s)
		if err != nil {
			return Type{}, l.back(start, err)
		}
		return t, nil
	case '[':
		fields, size, err := l.fields()
		return Type{Size: size, Fields: fields, note: l.inner}, err
	default:
		return Type{}, wire.ErrSyntax.WithRule("npy.descr").Errorf("expected a type or a list of fields")
	}
}

// typeName reads a string. The common ones cost no allocation.
func (l *literal) typeName() (string, error) {
	p, err := l.quoted()
	if err != nil {
		return "", err
	}
	for _, s := range [...]string{"<f4", "<f2", "<f8", "<i8", "<i4", "<i2", "|i1", "|u1", "|b1", "<V2", "<V1"} {
		if string(p) == s {
			return s, nil
		}
	}
	return limits.String(l.b, p)
}

// A record is the part of a structured type read so far.
type record struct {
	list  []Field
	size  int64
	used  []string // names and titles, which must differ from each other
	names *wire.NameSet
}

// fields reads the list of a structured type.
func (l *literal) fields() ([]Field, int64, error) {
	if err := l.b.Enter(); err != nil {
		return nil, 0, err
	}
	defer l.b.Leave()
	var (
		r   record
		err error
	)
	if r.names, err = wire.NewNameSet(l.b, 0, func(i int) string { return r.used[i] }); err != nil {
		return nil, 0, err
	}
	l.at++ // the bracket
	for more := !l.take(']'); more; {
		start := l.mark()
		f, err := l.field()
		if err != nil {
			return nil, 0, err
		}
		if err := r.add(l.b, f); err != nil {
			return nil, 0, l.back(start, err)
		}
		if more, err = l.more(']'); err != nil {
			return nil, 0, err
		}
	}
	return r.list, r.size, nil
}

// add appends a field. Padding only moves the offset.
func (r *record) add(b *limits.Budget, f Field) (err error) {
	f.Off = r.size
	if r.size += f.Size; r.size > maxItem {
		return wire.ErrRange.WithRule("npy.item-size").Errorf("element of more than %d bytes", int64(maxItem))
	}
	if f.Name == "" {
		return nil
	}
	for _, name := range [...]string{f.Title, f.Name} {
		if name == "" {
			continue
		}
		if r.used, err = limits.Append(b, r.used, name); err != nil {
			return err
		}
		if _, added, err := r.names.Add(len(r.used) - 1); err != nil {
			return err
		} else if !added {
			return wire.ErrDuplicate.WithRule("npy.field-twice").Errorf("field %s", wire.Quote(name))
		}
	}
	r.list, err = limits.Append(b, r.list, f)
	return err
}

// field reads (name, type) or (name, type, shape). A field without a name is
// padding and must be of type V.
func (l *literal) field() (Field, error) {
	start := l.mark()
	var f Field
	if err := l.expect('('); err != nil {
		return f, err
	}
	if err := l.b.Items(1); err != nil {
		return f, err
	}
	if err := l.names(&f); err != nil {
		return f, err
	}
	if err := l.expect(','); err != nil {
		return f, err
	}
	t, err := l.descr()
	if err != nil {
		return f, err
	}
	f.Type, f.Fields = t.Descr, t.Fields
	l.inner |= t.note & (noteNative | noteUnknown)
	if f.Shape, err = l.subarray(); err != nil {
		return f, err
	}
	size, ok := extent(f.Shape, t.Size)
	switch {
	case !ok || size > maxItem:
		return f, l.back(start, wire.ErrRange.WithRule("npy.item-size").Errorf("field of more than %d bytes", int64(maxItem)))
	case f.Name == "" && (f.Title != "" || !strings.HasPrefix(t.Descr, "|V")):
		return f, l.back(start, wire.ErrSyntax.WithRule("npy.field-syntax").Errorf("field without a name"))
	}
	f.Size = int64(size)
	return f, nil
}

// subarray reads the end of a field: its shape, if any, and the bracket.
func (l *literal) subarray() ([]int64, error) {
	more, err := l.more(')')
	if err != nil || !more {
		return nil, err
	}
	shape, err := l.tuple()
	if err != nil {
		return nil, err
	}
	if more, err = l.more(')'); err == nil && more {
		err = wire.ErrSyntax.WithRule("npy.field-syntax").Errorf("a field has at most three parts")
	}
	return shape, err
}

// names reads a field's name, or the pair (title, name).
func (l *literal) names(f *Field) (err error) {
	if !l.take('(') {
		f.Name, err = l.str()
		return err
	}
	if f.Title, err = l.str(); err != nil {
		return err
	}
	if err := l.expect(','); err != nil {
		return err
	}
	start := l.mark()
	if f.Name, err = l.str(); err != nil {
		return err
	}
	if f.Title == "" || f.Name == "" {
		return l.back(start, wire.ErrSyntax.WithRule("npy.field-syntax").Errorf("empty title or name"))
	}
	return l.expect(')')
}
