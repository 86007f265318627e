package flatbuffers

import (
	"encoding/binary"
	"io"
	"math"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

const offsetLen = 4

// Causes are why a format refuses bytes.
type Causes struct {
	Structure *wire.Cause // an offset, a table or a vector breaks the rules
	Unknown   *wire.Cause // a field or a type of a union that the schema does not have
	Text      *wire.Cause // a text is not UTF-8
}

// A Reader reads one file.
type Reader struct {
	b      *limits.Budget
	steps  limits.Steps
	format string
	schema *Schema
	causes Causes
	pages  *pages
	size   int64
	end    int64 // of what was reached so far
}

// End is where the last table, vector or text ends that was reached so far.
func (r *Reader) End() int64 { return r.end }

// NewReader returns a reader of r, which holds size bytes of a format.
func NewReader(b *limits.Budget, format string, r io.ReaderAt, size int64, schema *Schema, causes Causes) (*Reader, error) {
	p, err := newPages(b, r, size)
	if err != nil {
		return nil, wire.At(format, "", 0, err)
	}
	return &Reader{b: b, steps: b.Steps(), format: format, schema: schema, causes: causes, pages: p, size: size}, nil
}

// A Node is a table.
type Node struct {
	r      *Reader
	shape  *Shape
	at     int64 // of the table
	fields int64 // of its table of fields
	count  int   // of the fields in it
	size   int64 // of the table
}

// A Span is a range of bytes.
type Span struct{ Off, Len int64 }

// Shape is the kind of the table.
func (n Node) Shape() *Shape { return n.shape }

// Off is where the table begins.
func (n Node) Off() int64 { return n.at }

// fail places a cause.
func (r *Reader) fail(where string, off int64, cause error) error {
	return wire.At(r.format, where, off, cause)
}

// bytes reads n bytes of a structure, n <= 8.
func (r *Reader) bytes(where string, off int64, n int) (v [8]byte, err error) {
	if off < 0 || off > r.size-int64(n) {
		return v, r.fail(where, min(max(off, 0), r.size), wire.ErrTruncated.Errorf("%d bytes wanted at %#x, the file has %d", n, uint64(off), r.size))
	}
	if err := r.pages.read(v[:n], off); err != nil {
		return v, r.fail(where, off, err)
	}
	return v, nil
}

func (r *Reader) u16(where string, off int64) (int64, error) {
	v, err := r.bytes(where, off, 2)
	return int64(binary.LittleEndian.Uint16(v[:])), err
}

func (r *Reader) u32(where string, off int64) (int64, error) {
	v, err := r.bytes(where, off, 4)
	return int64(binary.LittleEndian.Uint32(v[:])), err
}

// follow returns where the offset at off leads: forward, to a multiple of four.
func (r *Reader) follow(where string, off int64) (int64, error) {
	n, err := r.u32(where, off)
	if err != nil {
		return 0, err
	}
	if n == 0 || n > math.MaxInt32 || (off+n)%offsetLen != 0 {
		return 0, r.fail(where, off, r.causes.Structure.Errorf("an offset of %d at %#x: one leads forward, to a multiple of four", n, off))
	}
	return off + n, nil
}

// Root returns the table to which the first offset leads.
func (r *Reader) Root(shape int) (Node, error) {
	at, err := r.follow("", 0)
	if err != nil {
		return Node{}, err
	}
	return r.node(shape, at)
}

// node reads the head of a table, and proves where its fields are.
func (r *Reader) node(shape int, at int64) (Node, error) {
	n := Node{r: r, shape: &r.schema.Tables[shape], at: at}
	where := n.shape.Name
	if err := r.steps.Step(); err != nil {
		return n, r.fail(where, at, err)
	}
	back, err := r.u32(where, at)
	if err != nil {
		return n, err
	}
	if n.fields = at - int64(int32(uint32(back))); n.fields%2 != 0 || n.fields < offsetLen {
		return n, r.fail(where, at, r.causes.Structure.Errorf("the places of its fields are at %#x", uint64(n.fields)))
	}
	size, err := r.u16(where, n.fields)
	if err != nil {
		return n, err
	}
	if n.size, err = r.u16(where, n.fields+2); err != nil {
		return n, err
	}
	switch {
	case size < 4 || size%2 != 0 || n.size < offsetLen:
		return n, r.fail(where, n.fields, r.causes.Structure.Errorf("%d bytes of places of fields, and a table of %d", size, n.size))
	case size > r.size-n.fields, n.size > r.size-at:
		return n, r.fail(where, at, wire.ErrTruncated.Errorf("a table of %d bytes, and %d of places of its fields, in a file of %d", n.size, size, r.size))
	}
	r.end = max(r.end, n.fields+size, at+n.size)
	n.count = int(size-4) / 2
	for k := range n.count {
		if _, _, err := n.place(k); err != nil {
			return n, err
		}
	}
	return n, nil
}

// place returns where a field is; false if the table does not have it.
func (n *Node) place(k int) (int64, bool, error) {
	if k >= n.count {
		return 0, false, nil
	}
	v, err := n.r.u16(n.shape.Name, n.fields+4+2*int64(k))
	if err != nil || v == 0 {
		return 0, false, err
	}
	if k >= len(n.shape.Fields) {
		return 0, false, n.r.fail(n.shape.Name, n.at, n.r.causes.Unknown.Errorf("it has the field %d, and %d are known", k, len(n.shape.Fields)))
	}
	f := &n.shape.Fields[k]
	size := int64(f.size())
	if v < offsetLen || v > n.size-size || (n.at+v)%size != 0 {
		return 0, false, n.r.fail(n.where(k), n.at, n.r.causes.Structure.Errorf("a field of %d bytes at %d of a table of %d", size, v, n.size))
	}
	return n.at + v, true, nil
}

// where names a field in an error.
func (n *Node) where(k int) string { return n.shape.Name + "." + n.shape.Fields[k].Name }

// Has reports whether a field is there.
func (n Node) Has(k int) (bool, error) {
	_, ok, err := n.place(k)
	return ok, err
}

// Number returns a field of the table itself as an unsigned number; without it, 0.
func (n Node) Number(k int) (uint64, error) {
	off, ok, err := n.place(k)
	if err != nil || !ok {
		return 0, err
	}
	v, err := n.r.bytes(n.where(k), off, n.shape.Fields[k].Width)
	return binary.LittleEndian.Uint64(v[:]), err
}

// vector returns the span of the elements of a vector at off, each of width bytes.
func (r *Reader) vector(where string, off int64, width int) (Span, error) {
	at, err := r.follow(where, off)
	if err != nil {
		return Span{}, err
	}
	n, err := r.u32(where, at)
	if err != nil {
		return Span{}, err
	}
	s := Span{Off: at + offsetLen, Len: n * int64(width)}
	if s.Len > r.size-s.Off {
		return s, r.fail(where, at, wire.ErrTruncated.Errorf("%d elements of %d bytes, and %d bytes are left", n, width, r.size-s.Off))
	}
	r.end = max(r.end, s.Off+s.Len)
	return s, nil
}

// Vector returns where the elements of a vector are; false if it is not there.
func (n Node) Vector(k int) (Span, bool, error) {
	off, ok, err := n.place(k)
	if err != nil || !ok {
		return Span{}, false, err
	}
	f := &n.shape.Fields[k]
	width := offsetLen
	if f.Kind == Scalars {
		width = f.Width
	}
	s, err := n.r.vector(n.where(k), off, width)
	return s, true, err
}

// Element returns an element of a vector of numbers, whose span [Node.Vector] returned.
func (n Node) Element(k int, of Span, i int64) (uint64, error) {
	width := n.shape.Fields[k].Width
	v, err := n.r.bytes(n.where(k), of.Off+i*int64(width), width)
	return binary.LittleEndian.Uint64(v[:]), err
}

// text returns the span of the text to which the offset at off leads.
func (r *Reader) text(where string, off int64) (Span, error) {
	s, err := r.vector(where, off, 1)
	if err != nil {
		return s, err
	}
	end, err := r.bytes(where, s.Off+s.Len, 1)
	if err == nil && end[0] != 0 {
		err = r.fail(where, s.Off+s.Len, r.causes.Structure.Errorf("a text that no zero ends"))
	}
	r.end = max(r.end, s.Off+s.Len+1)
	return s, err
}

// Text returns a text, which is charged; without it, "".
func (n Node) Text(k int) (string, error) {
	off, ok, err := n.place(k)
	if err != nil || !ok {
		return "", err
	}
	s, err := n.r.text(n.where(k), off)
	if err != nil {
		return "", err
	}
	p, err := limits.Make[byte](n.r.b, int(s.Len))
	if err == nil {
		err = n.r.pages.read(p, s.Off)
	}
	if err == nil && !utf8.Valid(p) {
		err = n.r.causes.Text.Errorf("a text that is not UTF-8")
	}
	if err != nil {
		return "", n.r.fail(n.where(k), s.Off, err)
	}
	return string(p), nil
}

// Table returns the table to which a field leads; false if it is not there.
func (n Node) Table(k int) (Node, bool, error) {
	off, ok, err := n.place(k)
	if err != nil || !ok {
		return Node{}, false, err
	}
	at, err := n.r.follow(n.where(k), off)
	if err != nil {
		return Node{}, false, err
	}
	of := n.shape.Fields[k].Of
	if n.shape.Fields[k].Kind == Union {
		if of, err = n.kind(k); err != nil {
			return Node{}, false, err
		}
	}
	child, err := n.r.node(of, at)
	return child, true, err
}

// kind returns the kind of table of a union, which the field before it says.
func (n *Node) kind(k int) (int, error) {
	v, err := n.Number(k - 1)
	if err != nil {
		return 0, err
	}
	kinds := n.r.schema.Unions[n.shape.Fields[k].Of]
	if v >= uint64(len(kinds)) || kinds[v] < 0 {
		return 0, n.r.fail(n.where(k), n.at, n.r.causes.Unknown.Errorf("the type %d of a union that has %d", v, len(kinds)-1))
	}
	return kinds[v], nil
}

// Each calls do for each table of a vector, in order.
func (n Node) Each(k int, do func(i int, child Node) error) error {
	s, _, err := n.Vector(k)
	if err != nil {
		return err
	}
	for i := range s.Len / offsetLen {
		at, err := n.r.follow(n.where(k), s.Off+i*offsetLen)
		if err != nil {
			return err
		}
		child, err := n.r.node(n.shape.Fields[k].Of, at)
		if err == nil {
			err = do(int(i), child)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Verify proves everything that can be reached from a table.
func (r *Reader) Verify(n Node) error {
	for k := range n.shape.Fields {
		if err := r.verify(n, k); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) verify(n Node, k int) error {
	f := &n.shape.Fields[k]
	off, ok, err := n.place(k)
	if err != nil || !ok {
		return err
	}
	switch f.Kind {
	case Text:
		_, err = r.text(n.where(k), off)
	case Scalars:
		_, _, err = n.Vector(k)
	case Table, Union:
		child, _, err := n.Table(k)
		if err != nil {
			return err
		}
		return r.Verify(child)
	case Tables:
		return n.Each(k, func(_ int, child Node) error { return r.Verify(child) })
	}
	return err
}
