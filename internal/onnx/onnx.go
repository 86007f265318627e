package onnx

import (
	"cmp"
	"encoding/binary"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Format is the name of the format in errors.
const Format = "onnx"

// A Model sums up a file.
type Model struct {
	Tensors, Elements, Bytes int64    // Bytes counts data inside the file and outside
	External                 []string // files with external data
	Findings                 []tensor.Finding
}

// Check checks the structure of a model of size bytes.
func Check(b *limits.Budget, r io.ReaderAt, size int64) (*Model, error) {
	c := wire.NewCursor(b, Format, r, size)
	c.Order = binary.LittleEndian
	w := &checker{schema: newSchema(), b: b, steps: b.Steps(), foreign: map[opName]int64{}, functions: map[opName]bool{}, files: map[string]bool{}}
	if size == 0 {
		return nil, c.Fail("", wire.ErrTruncated.Errorf("the file is empty"))
	}
	if err := w.message(&c, w.model, nil); err != nil {
		return nil, err
	}
	for _, must := range [...]struct {
		field uint64
		what  string
	}{{1, "version of the format"}, {7, "graph"}, {8, "version of its operators"}} {
		if w.modelFields&(1<<must.field) == 0 {
			return nil, c.FailAt("ModelProto", 0, wire.ErrMissing.WithRule("onnx.part-missing").Errorf("no %s", must.what))
		}
	}
	if err := w.reportDomains(); err != nil {
		return nil, err
	}
	w.out.Findings = w.findings.All()
	return &w.out, nil
}

// A checker checks one file.
type checker struct {
	schema

	b           *limits.Budget
	steps       limits.Steps
	out         Model
	findings    tensor.Findings
	modelFields uint64           // fields of the model itself
	foreign     map[opName]int64 // of operators that are not ONNX's, and where one stands
	functions   map[opName]bool  // functions of the file
	files       map[string]bool  // files of external data, which are in out.External
	untracked   int64            // where an operator stands that was not kept, or 0
}

// A hook receives the fields of one message, and its end.
type hook interface {
	number(f, v uint64)
	text(f uint64, s string)
	bytes(f uint64, n int64)
	message(f uint64, of hook)
	end(w *checker, c *wire.Cursor, at int64) error
}

// maxText is the longest string that is passed to hooks.
const maxText = 1 << 10

// message reads the fields of a message to its end; h may be nil.
func (w *checker) message(c *wire.Cursor, m *message, h hook) error {
	if err := w.b.Enter(); err != nil {
		return c.Fail(m.name, err)
	}
	defer w.b.Leave()
	at := c.Off()
	for seen := uint64(0); c.Left() > 0; {
		if err := w.steps.Step(); err != nil {
			return c.Fail(m.name, err)
		}
		from := c.Off()
		tag, err := varint(c)
		if err != nil {
			return err
		}
		f, ok := m.fields[tag>>3]
		if !ok {
			return c.FailAt(m.name, from, wire.ErrUnsupported.WithRule("onnx.field-unknown").Errorf("field %d does not exist in ONNX 1.23", tag>>3))
		}
		if bit := uint64(1) << (tag >> 3); !f.repeated {
			if seen&bit != 0 {
				return c.FailAt(m.name, from, wire.ErrDuplicate.WithRule("onnx.field-twice").Errorf("field %d appears twice", tag>>3))
			}
			seen |= bit
		}
		if m == w.model {
			w.modelFields |= 1 << (tag >> 3)
		}
		if err := w.field(c, m, f, tag, h); err != nil {
			return err
		}
	}
	if h == nil {
		return nil
	}
	return h.end(w, c, at)
}

// Wire types of protobuf.
const (
	wireNumber = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5
)

// field reads one field after its tag.
func (w *checker) field(c *wire.Cursor, m *message, f field, tag uint64, h hook) error {
	id, typ := tag>>3, tag&7
	want := [...]uint64{number: wireNumber, fixed32: wire32, fixed64: wire64, text: wireBytes, sub: wireBytes}[f.kind]
	packed := typ == wireBytes && f.repeated && f.kind < text
	if typ != want && !packed {
		return c.Fail(m.name, wire.ErrSyntax.WithRule("onnx.wire-type").Errorf("field %d has the wire type %d", id, typ))
	}
	if typ != wireBytes {
		v, err := scalar(c, f.kind)
		if err == nil && h != nil {
			h.number(id, v)
		}
		return err
	}
	n, err := varint(c)
	if err != nil {
		return err
	}
	switch {
	case packed:
		return w.packed(c, f.kind, id, n, h)
	case f.kind == sub:
		in, err := c.Sub(n)
		if err != nil {
			return err
		}
		var below hook
		if f.of.make != nil {
			below = f.of.make()
		}
		if err := w.message(&in, f.of, below); err != nil {
			return err
		}
		if h != nil && below != nil {
			h.message(id, below)
		}
		return nil
	case h == nil:
		return c.Skip(n)
	case n > cmp.Or(m.maxText, maxText) || m == w.array && id == 9:
		h.bytes(id, int64(min(n, wire.MaxSize)))
		return c.Skip(n)
	}
	s, err := c.String(n)
	if err == nil {
		h.text(id, s)
		w.b.Drop(int64(len(s))) // what is kept is charged where it is kept
	}
	return err
}

// packed reads a packed list of numbers.
func (w *checker) packed(c *wire.Cursor, k kind, id, n uint64, h hook) error {
	in, err := c.Sub(n)
	if err != nil {
		return err
	}
	if width := [...]int64{fixed32: 4, fixed64: 8}[k]; width > 0 {
		if in.Left()%width != 0 {
			return in.Fail("", wire.ErrSyntax.WithRule("onnx.wire-type").Errorf("%d bytes of packed numbers of %d bytes each", in.Left(), width))
		}
		return nil
	}
	for in.Left() > 0 {
		if err := w.steps.Step(); err != nil {
			return in.Fail("", err)
		}
		v, err := scalar(&in, k)
		if err != nil {
			return err
		}
		if h != nil {
			h.number(id, v)
		}
	}
	return nil
}

func scalar(c *wire.Cursor, k kind) (uint64, error) {
	switch k {
	case fixed32:
		v, err := c.U32()
		return uint64(v), err
	case fixed64:
		return c.U64()
	}
	return varint(c)
}

// varint reads a number of at most 64 bits, in at most ten bytes.
func varint(c *wire.Cursor) (v uint64, err error) {
	at := c.Off()
	for shift := uint(0); ; shift += 7 {
		x, err := c.U8()
		if err != nil {
			return 0, err
		}
		if shift == 63 && x > 1 {
			return 0, c.FailAt("", at, wire.ErrOverflow.WithRule("onnx.varint").Errorf("a number of more than 64 bits"))
		}
		v |= uint64(x&0x7f) << shift
		if x < 0x80 {
			return v, nil
		}
	}
}
