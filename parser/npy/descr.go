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

// note says what a reader of the type should know.
type note uint8

const (
	noteBF16     note = 1 << iota // V2
	noteE5M2                      // f1
	noteLost                      // V1
	noteUnknown                   // a kind or size that NumPy has not
	noteNative                    // '='
	notePython2                   // 3L
	noteLongHead                  // a header that numpy.load refuses
)

// descr reads a type: a string, or a list of fields, whose text it leaves out.
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
		return Type{}, wire.ErrSyntax.With("a type or a list of fields expected")
	}
}

// typeName reads a string that is often one of a few, which cost nothing.
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

// fields reads the list of a structured type.
func (l *literal) fields() (list []Field, size int64, err error) {
	if err := l.b.Enter(); err != nil {
		return nil, 0, err
	}
	defer l.b.Leave()
	var used []string
	names, err := wire.NewNameSet(l.b, 0, func(i int) string { return used[i] })
	if err != nil {
		return nil, 0, err
	}
	l.at++ // the bracket
	for more := !l.take(']'); more; {
		start := l.mark()
		f, err := l.field()
		if err != nil {
			return nil, 0, err
		}
		f.Off = size
		if size += f.Size; size > maxItem {
			return nil, 0, l.back(start, wire.ErrRange.With("element of more than %d bytes", int64(maxItem)))
		}
		if f.Name != "" {
			for _, name := range [...]string{f.Title, f.Name} {
				if name == "" {
					continue
				}
				if used, err = limits.Append(l.b, used, name); err != nil {
					return nil, 0, err
				}
				if _, added, err := names.Add(len(used) - 1); err != nil {
					return nil, 0, err
				} else if !added {
					return nil, 0, l.back(start, wire.ErrDuplicate.With("field %s", wire.Quote(name)))
				}
			}
			if list, err = limits.Append(l.b, list, f); err != nil {
				return nil, 0, err
			}
		}
		if more, err = l.more(']'); err != nil {
			return nil, 0, err
		}
	}
	return list, size, nil
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
	more, err := l.more(')')
	if err != nil {
		return f, err
	}
	if more {
		if f.Shape, err = l.tuple(); err != nil {
			return f, err
		}
		if more, err = l.more(')'); err != nil {
			return f, err
		}
	}
	count, ok := wire.Product(f.Shape)
	size, fits := wire.Mul(count, uint64(t.Size))
	switch {
	case more:
		return f, wire.ErrSyntax.With("a field has at most three parts")
	case !ok || !fits || size > maxItem:
		return f, l.back(start, wire.ErrRange.With("field of more than %d bytes", int64(maxItem)))
	case f.Name == "" && (f.Title != "" || !strings.HasPrefix(t.Descr, "|V")):
		return f, l.back(start, wire.ErrSyntax.With("field without a name"))
	}
	f.Size = int64(size)
	return f, nil
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
		return l.back(start, wire.ErrSyntax.With("empty title or name"))
	}
	return l.expect(')')
}

// numbers is the types that tensor knows, by kind and size.
var numbers = [...]struct {
	kind  byte
	size  int64
	dtype tensor.DType
}{
	{'b', 1, tensor.Bool},
	{'i', 1, tensor.I8}, {'i', 2, tensor.I16}, {'i', 4, tensor.I32}, {'i', 8, tensor.I64},
	{'u', 1, tensor.U8}, {'u', 2, tensor.U16}, {'u', 4, tensor.U32}, {'u', 8, tensor.U64},
	{'f', 2, tensor.F16}, {'f', 4, tensor.F32}, {'f', 8, tensor.F64},
	{'c', 8, tensor.C64}, {'c', 16, tensor.C128},
	{'f', 1, tensor.F8E5M2}, {'V', 2, tensor.BF16},
	{'f', 12, tensor.Unknown}, {'f', 16, tensor.Unknown}, {'c', 24, tensor.Unknown}, {'c', 32, tensor.Unknown},
}

// parseType reads a type string: byte order, kind, size, and the unit of a time.
func parseType(s string) (Type, error) {
	if len(s) < 2 || strings.IndexByte("<>=|", s[0]) < 0 || !letter(s[1]) {
		return Type{}, wire.ErrSyntax.With("type %s", wire.Quote(s))
	}
	order, kind, rest := s[0], s[1], s[2:]
	if kind == 'O' {
		return Type{}, wire.ErrForbidden.With("object type %s: the data is a pickle and is not read", wire.Quote(s))
	}
	size, unit, ok := digits(rest)
	if !ok || unit != "" && (kind != 'M' && kind != 'm' || !timeUnit(unit)) {
		return Type{}, wire.ErrSyntax.With("type %s", wire.Quote(s))
	}
	if kind == 'U' {
		size *= 4
	}
	t := Type{Descr: s, Size: size}
	switch {
	case size > maxItem:
		return Type{}, wire.ErrRange.With("type %s has more than %d bytes", wire.Quote(s), int64(maxItem))
	case (kind == 'M' || kind == 'm') && size != 8:
		return Type{}, wire.ErrSyntax.With("type %s: a time has 8 bytes", wire.Quote(s))
	}
	t.classify(kind)
	return t, t.order(order, kind)
}

// classify finds the DType, or notes why there is none.
func (t *Type) classify(kind byte) {
	for _, n := range numbers {
		if n.kind == kind && n.size == t.Size {
			t.DType = n.dtype
			switch n.dtype {
			case tensor.BF16:
				t.note |= noteBF16
			case tensor.F8E5M2:
				t.note |= noteE5M2
			}
			return
		}
	}
	switch {
	case kind == 'V' && t.Size == 1:
		t.note |= noteLost
	case strings.IndexByte("SUVMm", kind) < 0:
		t.note |= noteUnknown
	}
}

// order takes the byte order. Bytes and types of one byte have none; for the
// others '|' would mean the reader's own. V2 has one where ml_dtypes wrote it,
// and NumPy loses it.
func (t *Type) order(c, kind byte) error {
	if t.Size <= 1 || kind == 'S' || kind == 'V' && t.DType != tensor.BF16 {
		return nil
	}
	switch c {
	case '>':
		t.Order = tensor.Big
	case '=':
		t.note |= noteNative
	case '|':
		if t.note&noteUnknown != 0 || kind == 'V' {
			return nil
		}
		return wire.ErrSyntax.With("type %s has no byte order", wire.Quote(t.Descr))
	}
	return nil
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// digits splits a decimal number without leading zero off s.
func digits(s string) (n int64, rest string, ok bool) {
	i := 0
	for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		if n = n*10 + int64(s[i]-'0'); n > maxItem {
			return maxItem + 1, strings.TrimLeft(s[i:], "0123456789"), s[0] != '0'
		}
	}
	return n, s[i:], i > 0 && (i == 1 || s[0] != '0')
}

// timeUnit reports "[ns]", "[25s]" and the like.
func timeUnit(s string) bool {
	if len(s) < 3 || s[0] != '[' || s[len(s)-1] != ']' {
		return false
	}
	s = s[1 : len(s)-1]
	if n, rest, ok := digits(s); ok && n > 0 && n <= maxItem {
		s = rest
	}
	switch s {
	case "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as":
		return true
	}
	return false
}
