package vm

import (
	"strings"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// copySteps is the cost of copying an element between containers, which a file can ask
// for with few bytes.
const copySteps = 4

// classes are the classes of containers by kind, the plain one first.
var classes = [...][4]ID{
	KindBytes: {NoID, ByteArray},
	KindList:  {NoID, Deque},
	KindDict:  {NoID, OrderedDict, Counter, DefaultDict},
	KindSet:   {NoID, FrozenSet},
}

// classFlags are the same as flags, by class.
var classFlags = [...]uint8{
	OrderedDict: 1 << flagShift,
	Counter:     2 << flagShift,
	DefaultDict: 3 << flagShift,
	Deque:       1 << flagShift,
	Set:         0,
	FrozenSet:   1 << flagShift,
	ByteArray:   1 << flagShift,
}

// pushContainer pushes an empty container, with the attribute that its class has besides
// the elements.
func (m *machine) pushContainer(n node, extra ref) (ref, error) {
	r, err := m.add(n)
	if err != nil {
		return r, err
	}
	if extra != refAbsent {
		if err := m.setAttr(r, attr{extra: extra}, false); err != nil {
			return r, err
		}
	}
	return r, m.push(r)
}

// newDict pushes a dict of a class, filled from a dict or a list of pairs.
func (m *machine) newDict(id ID, from, extra ref) error {
	r, err := m.pushContainer(node{kind: KindDict, flags: flagNoHash | classFlags[id], depth: 1, size: 1}, extra)
	if err != nil || from == refAbsent {
		return err
	}
	return m.fill(r, from)
}

// fill sets the entries of a dict from another, or from a list of pairs.
func (m *machine) fill(r, from ref) error {
	n := m.g.node(from)
	m.cost += copySteps * int64(n.n)
	if err := m.settle(); err != nil {
		return err
	}
	for i := range n.n {
		var pair [2]ref
		if n.kind == KindDict {
			pair = [2]ref{m.g.elem(n.a + 2*i), m.g.elem(n.a + 2*i + 1)}
		} else if !m.pair(&pair, m.g.elem(n.a+i)) {
			m.doubt = true // Python accepts a text of two characters as a pair
			return wire.ErrSyntax.WithRule("pickle.entry").Errorf("an entry that is not a pair")
		}
		if err := m.setItems(r, pair[:]); err != nil {
			return err
		}
	}
	return nil
}

// pair reads a tuple or list of two.
func (m *machine) pair(to *[2]ref, r ref) bool {
	kind := m.g.kind(r)
	if kind != KindTuple && kind != KindList {
		return false
	}
	n := m.g.node(r)
	if n.n != 2 {
		return false
	}
	*to = [2]ref{m.g.elem(n.a), m.g.elem(n.a + 1)}
	return true
}

// newSequence pushes a deque, set or frozenset with the elements of a container.
func (m *machine) newSequence(kind Kind, id ID, from, extra ref) error {
	flags := classFlags[id]
	if id != FrozenSet {
		flags |= flagNoHash
	}
	r, err := m.pushContainer(node{kind: kind, flags: flags, depth: 1, size: 1}, extra)
	if err != nil || from == refAbsent {
		return err
	}
	n := m.g.node(from)
	m.cost += copySteps * int64(n.n)
	if err := m.settle(); err != nil {
		return err
	}
	stride := uint32(1)
	if n.kind == KindDict { // its keys
		stride = 2
	}
	for i := range n.n {
		item := []ref{m.g.elem(n.a + i*stride)}
		if kind == KindSet {
			err = m.addItems(r, item)
		} else {
			err = m.extend(r, item)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// newByteArray pushes a bytearray: empty, of bytes, or of a Latin-1 text as Python 2
// wrote it.
func (m *machine) newByteArray(from ref) error {
	const flags = 1<<flagShift | flagNoHash
	if from == refAbsent {
		return m.pushData(KindBytes, flags, 0, 0)
	}
	if m.g.kind(from) == KindText {
		return m.latin1(from, flags)
	}
	n := *m.g.node(from)
	return m.pushNew(node{kind: KindBytes, flags: n.flags&flagSide | flags, a: n.a, n: n.n, size: n.size})
}

// isLatin1 and isUTF8 report whether a name is one that picklers use for the codec.
func isLatin1(codec string) bool { return codec == "latin1" || codec == "latin-1" }
func isUTF8(codec string) bool   { return codec == "utf-8" || codec == "utf8" }

// encode pushes the bytes of a text, as _codecs.encode does.
func (m *machine) encode(from, codec ref) error {
	if isLatin1(m.g.text(codec)) {
		return m.latin1(from, 0)
	}
	if err := m.reads(from); err != nil {
		return err
	}
	if !utf8.ValidString(m.g.text(from)) {
		return wire.ErrText.WithRule("pickle.surrogate").Errorf("a lone surrogate has no UTF-8 encoding")
	}
	return m.sameBytes(from, 0)
}

// reads charges for reading every byte of a text.
func (m *machine) reads(text ref) error {
	m.cost += int64(m.g.node(text).n / 16)
	return m.settle()
}

// sameBytes pushes the bytes of a text.
func (m *machine) sameBytes(from ref, flags uint8) error {
	n := *m.g.node(from)
	m.nested(m.g.text(from))
	return m.pushNew(node{kind: KindBytes, flags: n.flags&flagSide | flags, a: n.a, n: n.n, size: n.size})
}

// latin1 pushes the Latin-1 bytes of a text.
func (m *machine) latin1(from ref, flags uint8) error {
	s := m.g.text(from)
	if err := m.reads(from); err != nil {
		return err
	}
	if isASCII(s) {
		return m.sameBytes(from, flags)
	}
	if err := m.work.Alloc(int64(len(s))); err != nil {
		return err
	}
	var out strings.Builder
	out.Grow(len(s))
	for _, r := range s {
		if r > 0xff { // or a lone surrogate, which decodes to U+FFFD
			return wire.ErrText.WithRule("pickle.latin1").Errorf("a character that Latin-1 does not have")
		}
		out.WriteByte(byte(r))
	}
	at, err := m.keep(out.String())
	if err != nil {
		return err
	}
	m.nested(out.String())
	return m.pushNew(node{kind: KindBytes, flags: flagSide | flags, a: at, n: uint32(out.Len()), size: textSize(out.Len())})
}
