package vm

import (
	"hash/maphash"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// Python's dicts and sets compare keys by hash and ==, so values of different kinds can
// be the same key: True, 1, 1.0, complex(1) and numpy.int8(1); (1,) and torch.Size([1]);
// "w" and TorchVersion("w"). Equal keys have the same [keyForm].

// A keyForm is the canonical form of a key that is not a tuple.
type keyForm struct {
	kind keyKind
	a, b uint64 // a number; the parts of a complex one; a ref
	text string
}

type keyKind uint8

const (
	keyOne     keyKind = iota // equal only to itself: a is the ref
	keyInt                    // a 64-bit integer: a
	keyBig                    // a larger one: text, as with flagBig
	keyFloat                  // a fraction or an infinity: a has the bits
	keyComplex                // a and b have the bits of the parts
	keyText                   // str, or compared as one
	keyBytes                  // bytes
	keyNamed                  // a global or a small object: text
	keyFamily                 // values of the family text that only Python can tell apart
	keyUnknown                // may equal values of other kinds
)

// keyForm returns the form of a key that is not a tuple.
func (m *matcher) keyForm(r ref) keyForm {
	one := keyForm{kind: keyOne, a: uint64(r)}
	if v, ok := m.g.int64(r); ok {
		return keyForm{kind: keyInt, a: uint64(v)}
	}
	switch n := m.g.node(r); n.kind {
	case KindBool:
		return keyForm{kind: keyInt, a: uint64(toInt(r == refTrue))}
	case KindInt:
		return keyForm{kind: keyBig, text: m.g.text(r)}
	case KindFloat:
		return floatForm(m.g.float(r), one)
	case KindText:
		return keyForm{kind: keyText, text: m.g.text(r)}
	case KindBytes:
		return keyForm{kind: keyBytes, text: m.g.text(r)}
	case KindSet, KindPersistent:
		return keyForm{kind: keyFamily, text: n.kind.String()}
	case KindGlobal:
		return globalForm(m.g.globals[n.a])
	case KindObject:
		return m.objectForm(r, one)
	default:
		return one
	}
}

// floatForm returns the form of a float, that of an integer if they are equal. NaN is
// equal only to itself.
func floatForm(f float64, one keyForm) keyForm {
	switch v := int64(f); {
	case math.IsNaN(f):
		return one
	case f >= math.MinInt64 && f < math.MaxInt64 && float64(v) == f:
		return keyForm{kind: keyInt, a: uint64(v)}
	case math.IsInf(f, 0) || f != math.Trunc(f):
		return keyForm{kind: keyFloat, a: math.Float64bits(f)}
	}
	n, _ := big.NewFloat(f).Int(nil)
	return keyForm{kind: keyBig, text: encodeBig(n.String())}
}

// globalForm returns the form of a class or function. Some modules were renamed and some
// of NumPy's types have several names, so one may be named differently.
func globalForm(g *Global) keyForm {
	switch {
	case g.class != nil: // by any of its names
		return keyForm{kind: keyNamed, text: g.class.names[0]}
	case g.ID == NoID:
		return keyForm{kind: keyNamed, text: g.String()}
	case g.ID != NumpyType || strings.ContainsAny(g.Name, "123456789"):
		return keyForm{kind: keyNamed, a: uint64(g.ID), text: g.Name}
	default:
		return keyForm{kind: keyFamily, text: "numpy type"}
	}
}

// objectForm returns the form of the result of a call.
func (m *matcher) objectForm(r ref, one keyForm) keyForm {
	id, args := m.g.id(r), m.g.node(m.g.elem(m.g.node(r).a+objArgs))
	arg := func(i uint32) ref { return m.g.elem(args.a + i) }
	switch id {
	case Complex:
		if args.n != 2 {
			return keyForm{kind: keyUnknown}
		}
		return complexForm(m.g.real(arg(0)), m.g.real(arg(1)), one)
	case TorchVersion:
		if args.n == 1 && m.g.kind(arg(0)) == KindText {
			return keyForm{kind: keyText, text: m.g.text(arg(0))}
		}
	case DateTime:
		if args.n == 1 && m.g.kind(arg(0)) == KindBytes {
			return keyForm{kind: keyNamed, a: uint64(id), text: m.g.global(r).Name + " " + withoutFold(m.g.text(arg(0)))}
		}
		return keyForm{kind: keyUnknown}
	case Path:
		return m.pathForm(m.g.global(r), args)
	case NumpyScalar:
		return m.scalarForm(args, one)
	case LibraryData, SetMember:
		c := m.g.global(r).class
		switch {
		case c.family:
			return keyForm{kind: keyFamily, text: c.names[0]}
		case c.equal != nil:
			return m.equalForm(r, c)
		}
		return keyForm{kind: keyUnknown}
	case Slice, Range, TorchDevice, TorchLayout, NumpyDType:
		return keyForm{kind: keyFamily, text: m.g.global(r).Name}
	}
	return one // tensors and refused objects
}

// equalForm returns the form of an instance of a frozen dataclass, which is equal to those with the
// same attributes. One that is missing is None.
func (m *matcher) equalForm(r ref, c *class) keyForm {
	unknown := keyForm{kind: keyUnknown}
	state := m.g.state(r)
	if state == refAbsent || m.g.kind(state) != KindDict {
		return unknown
	}
	n := m.g.node(state)
	out := append([]byte(c.names[0]), 0)
	for _, name := range c.equal {
		value := ref(refNone)
		for i := range n.n {
			m.cost++
			if key := m.g.elem(n.a + 2*i); m.g.kind(key) == KindText && m.g.text(key) == name {
				value = m.g.elem(n.a + 2*i + 1)
			}
		}
		var ok bool
		if out, ok = m.appendPart(out, value); !ok {
			return unknown
		}
	}
	return keyForm{kind: keyNamed, a: uint64(LibraryData), text: string(out)}
}

// appendPart appends an attribute so that different ones differ: a text with its length, None, the
// numbers of a torch.Size.
func (m *matcher) appendPart(out []byte, r ref) ([]byte, bool) {
	switch {
	case m.g.kind(r) == KindNone:
		return append(out, 'n'), true
	case m.g.kind(r) == KindText:
		text := m.g.text(r)
		m.cost += int64(len(text) / 64)
		out = strconv.AppendInt(append(out, 't'), int64(len(text)), 10)
		return append(append(out, ' '), text...), true
	}
	size, ok := m.tuple(r)
	if !ok || m.g.kind(r) != KindObject {
		return out, false
	}
	out = append(out, 's')
	for i := range size.n {
		m.cost++
		v, ok := m.g.int64(m.g.elem(size.a + i))
		if !ok {
			return out, false
		}
		out = append(strconv.AppendInt(out, v, 10), ' ')
	}
	return append(out, 'e'), true
}

func (g *Graph) real(r ref) float64 {
	if n, ok := g.int64(r); ok {
		return float64(n)
	}
	if g.kind(r) == KindFloat {
		return g.float(r)
	}
	return math.NaN()
}

func complexForm(re, im float64, one keyForm) keyForm {
	switch {
	case math.IsNaN(re) || math.IsNaN(im):
		return one
	case im == 0:
		return floatForm(re, one)
	default:
		return keyForm{kind: keyComplex, a: math.Float64bits(re + 0), b: math.Float64bits(im)}
	}
}

// withoutFold clears the fold bit in the state of a date or a time, which tells the two
// hours apart when clocks are set back and which == ignores.
func withoutFold(state string) string {
	p := []byte(state)
	switch len(p) {
	case 10:
		p[2] &= 0x7f
	case 6:
		p[0] &= 0x7f
	}
	return string(p)
}

// pathForm returns the form of a path whose parts are as pathlib writes them.
func (m *matcher) pathForm(g *Global, args *node) keyForm {
	var out strings.Builder
	m.cost += int64(args.n)
	for i := range args.n {
		part := m.g.text(m.g.elem(args.a + i))
		if strings.Contains(g.Name, "Windows") || part == "" || part == "." || strings.Contains(part, "/") && (i > 0 || part != "/") {
			return keyForm{kind: keyUnknown}
		}
		out.WriteString(part)
		out.WriteByte('/')
	}
	return keyForm{kind: keyNamed, a: uint64(Path), text: out.String()}
}

// scalarForm returns the form of a NumPy scalar: a number, a text or bytes.
func (m *matcher) scalarForm(args *node, one keyForm) keyForm {
	unknown := keyForm{kind: keyUnknown}
	if args.n != 2 || m.g.kind(m.g.elem(args.a+1)) != KindBytes || m.g.kind(m.g.elem(args.a)) != KindObject {
		return unknown
	}
	dtype := m.g.elem(args.a)
	size, code, ok := m.codeSize(dtype)
	p := []byte(m.g.text(m.g.elem(args.a + 1)))
	if !ok || uint64(len(p)) != size {
		return unknown
	}
	if m.isBigEndian(dtype) && code != 'S' {
		swapRuns(p, code)
	}
	var v uint64
	for i, c := range p[:min(len(p), 8)] {
		v |= uint64(c) << (8 * i)
	}
	switch {
	case code == 'b' && size == 1:
		return keyForm{kind: keyInt, a: uint64(toInt(v != 0))}
	case code == 'i':
		shift := 64 - 8*size
		return keyForm{kind: keyInt, a: uint64(int64(v<<shift) >> shift)}
	case code == 'u' && v>>63 == 0:
		return keyForm{kind: keyInt, a: v}
	case code == 'u':
		return keyForm{kind: keyBig, text: encodeBig(new(big.Int).SetUint64(v).String())}
	case code == 'f' && size == 4:
		return floatForm(float64(math.Float32frombits(uint32(v))), one)
	case code == 'f' && size == 8:
		return floatForm(math.Float64frombits(v), one)
	case code == 'S':
		return keyForm{kind: keyBytes, text: strings.TrimRight(string(p), "\x00")}
	case code == 'U':
		return keyForm{kind: keyText, text: wideText(p)}
	}
	return unknown
}

func (m *matcher) isBigEndian(dtype ref) bool {
	state := m.g.state(dtype)
	if state == refAbsent || m.g.kind(state) != KindTuple || m.g.node(state).n < 2 {
		return false
	}
	order := m.g.elem(m.g.node(state).a + 1)
	return (m.g.kind(order) == KindText || m.g.kind(order) == KindBytes) && m.g.text(order) == ">"
}

// swapRuns reverses the bytes of a number, or of each character of a text.
func swapRuns(p []byte, code byte) {
	run := len(p)
	if code == 'U' {
		run = 4
	}
	for ; len(p) > 0; p = p[run:] {
		slices.Reverse(p[:run])
	}
}

// wideText converts a text with four bytes per character, without the zeros that pad it.
func wideText(p []byte) string {
	var out strings.Builder
	for ; len(p) > 0; p = p[4:] {
		writeRune(&out, rune(uint32(p[0])|uint32(p[1])<<8|uint32(p[2])<<16|uint32(p[3])<<24))
	}
	return strings.TrimRight(out.String(), "\x00")
}

// tuple returns the elements of a value that Python compares as a tuple, which includes
// torch.Size.
func (m *matcher) tuple(r ref) (n *node, ok bool) {
	if m.g.kind(r) == KindTuple {
		return m.g.node(r), true
	}
	isSize := false
	for m.g.kind(r) == KindObject && m.g.id(r) == TorchSize {
		args := m.g.node(m.g.elem(m.g.node(r).a + objArgs))
		if args.n == 0 {
			return args, true
		}
		r, isSize = m.g.elem(args.a), true
	}
	if kind := m.g.kind(r); !isSize || kind != KindTuple && kind != KindList {
		return nil, false
	}
	return m.g.node(r), true
}

// hash is consistent with same: equal values have the same hash. Its steps are charged
// like those of calls.
func (m *machine) hash(r ref) (uint64, error) {
	if r < inline {
		if n := m.g.node(r); n.kind == KindText {
			return maphash.String(m.seed, m.g.text(r)), nil
		}
	}
	n, ok := m.match.tuple(r)
	if !ok {
		form := m.match.keyForm(r)
		if form.kind == keyText {
			return maphash.String(m.seed, form.text), nil
		}
		if h, ok := m.match.numberHash(form); ok {
			return maphash.Comparable(m.seed, h), nil
		}
		return maphash.Comparable(m.seed, form), nil
	}
	h, known, err := m.tupleHash(n)
	if !known {
		h = 0
	}
	return maphash.Comparable(m.seed, h), err
}

// same is Python's equality of keys: identity, or ==.
func (m *matcher) same(a, b ref) (bool, error) {
	if a == b {
		return true, nil
	}
	if a < inline && b < inline {
		if x, y := m.g.node(a), m.g.node(b); x.kind == KindText && y.kind == KindText {
			return x.n == y.n && m.g.text(a) == m.g.text(b), nil
		}
	}
	x, isTuple := m.tuple(a)
	y, both := m.tuple(b)
	if !isTuple || !both {
		return isTuple == both && m.keyForm(a) == m.keyForm(b), nil
	}
	if x.n != y.n {
		return false, nil
	}
	for i := range x.n {
		m.cost++
		if err := m.settle(); err != nil {
			return false, err
		}
		if equal, err := m.same(m.g.elem(x.a+i), m.g.elem(y.a+i)); err != nil || !equal {
			return false, err
		}
	}
	return true, nil
}

// isUnhashable reports whether results of a call cannot be keys. Slices cannot before
// Python 3.12.
func isUnhashable(id ID) bool {
	return id == NumpyReconstruct || id == NumpyFromBuffer || id == Namespace || id == Slice
}

// keyed checks that a value can be a key, and that we know what it is equal to.
func (m *machine) keyed(r ref) error {
	if r >= inline {
		return nil
	}
	n := m.g.node(r)
	switch {
	case n.flags&flagNoHash != 0:
		return wire.ErrSyntax.WithRule("pickle.key").Errorf("a value of kind %v is not a key", n.kind)
	case n.kind == KindText:
		return nil
	case n.kind == KindTuple:
		for i := range n.n {
			m.cost++
			if err := m.keyed(m.g.elem(n.a + i)); err != nil {
				return err
			}
		}
	case n.kind == KindObject && isUnhashable(m.g.id(r)):
		return m.strict(errKey, "%s is not a key", r)
	case n.kind == KindObject && m.match.keyForm(r).kind == keyUnknown:
		if err := m.strict(errKeyUnknown, "%s as a key: what equals it is not known here", r); err != nil {
			return err
		}
	}
	if err := m.settle(); err != nil {
		return err
	}
	return m.freeze(r)
}
