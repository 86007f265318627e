package msgpack

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A Kind is what a value is.
type Kind uint8

// The kinds of values.
const (
	Nil Kind = iota
	Bool
	Number
	Text
	Bytes
	List
	Map
)

// MaxText is how long a text is that a visitor is given. Of a longer one it gets the size.
const MaxText = wire.Chunk

// maxKey is how much of a name is kept.
const maxKey = 64

// A Value is a part of a file.
type Value struct {
	Kind Kind
	// Keys are the names of the members around it, the outermost first; a list adds none. A key that
	// is not text is "".
	Keys []string
	Text string // of a text, or of bytes, of at most MaxText
	// Long is the text or the bytes that are longer; it is not checked for UTF-8.
	Long *wire.Cursor
	Size int64 // of a text or bytes, or how many values a list or a map has
	Off  int64
}

// An open is a list or a map that is being read.
type open struct {
	left  uint64 // values that are to come, of a map its keys too
	isMap bool
}

// openCost is the memory of an open value with the name of its member.
const openCost = 128

// A reader reads one file.
type reader struct {
	b     *limits.Budget
	in    wire.Cursor
	steps limits.Steps
	open  []open
	keys  []string
	visit func(Value) error
}

// Read reads a value that fills all of r, and calls visit for each value in it that is no key of a map.
func Read(b *limits.Budget, in wire.Cursor, visit func(Value) error) error {
	r := &reader{b: b, in: in, steps: b.Steps(), visit: visit}
	defer func() {
		for range r.open {
			r.leave()
		}
	}()
	for {
		if err := r.value(); err != nil {
			return err
		}
		for len(r.open) > 0 && r.open[len(r.open)-1].left == 0 {
			r.open = r.open[:len(r.open)-1]
			r.leave()
		}
		if len(r.open) == 0 {
			break
		}
	}
	if n := r.in.Left(); n > 0 {
		return r.in.Fail("", wire.ErrTrailing.Errorf("%d bytes follow the value", n))
	}
	return nil
}

func (r *reader) leave() {
	r.b.Drop(openCost)
	r.b.Leave()
}

// value reads the next value, or a key and its value.
func (r *reader) value() error {
	if n := len(r.open); n > 0 {
		top := &r.open[n-1]
		top.left--
		r.keys = r.keys[:n-1]
		key := ""
		if top.isMap {
			var err error
			if key, err = r.key(); err != nil {
				return err
			}
			top.left--
		}
		r.keys = append(r.keys, key)
	}
	v, err := r.next()
	if err != nil {
		return err
	}
	v.Keys = r.keys
	if err := r.visit(v); err != nil {
		return r.in.FailAt("", v.Off, err)
	}
	if v.Kind != List && v.Kind != Map {
		return nil
	}
	return r.enter(v)
}

// enter opens a list or a map.
func (r *reader) enter(v Value) error {
	left := uint64(v.Size)
	if v.Kind == Map {
		left *= 2 // a map has less than 2^32 members
	}
	if left > uint64(r.in.Left()) {
		return r.in.FailAt("", v.Off, wire.ErrTruncated.Errorf("a list or a map of %d values, and %d bytes are left", v.Size, r.in.Left()))
	}
	if err := r.b.Enter(); err != nil {
		return r.in.FailAt("", v.Off, err)
	}
	if err := r.b.Hold(openCost); err != nil {
		r.b.Leave()
		return r.in.FailAt("", v.Off, err)
	}
	r.open = append(r.open, open{left, v.Kind == Map})
	return nil
}

// key reads the key of a member, which is no list and no map.
func (r *reader) key() (string, error) {
	v, err := r.next()
	if err != nil {
		return "", err
	}
	if v.Kind == List || v.Kind == Map {
		return "", r.in.FailAt("", v.Off, wire.ErrUnsupported.Errorf("a key that is a list or a map"))
	}
	return strings.Clone(v.Text[:min(len(v.Text), maxKey)]), nil // not all of a long text is held
}

// next reads the head of a value, and all of one that has no parts.
func (r *reader) next() (v Value, err error) {
	v.Off = r.in.Off()
	if err := r.steps.Step(); err != nil {
		return v, r.in.Fail("", err)
	}
	if err := r.b.Items(1); err != nil {
		return v, r.in.Fail("", err)
	}
	c, err := r.in.U8()
	if err != nil {
		return v, err
	}
	switch {
	case c < 0x80, c >= 0xe0:
		v.Kind = Number
		return v, nil
	case c < 0x90:
		v.Kind, v.Size = Map, int64(c&0x0f)
		return v, nil
	case c < 0xa0:
		v.Kind, v.Size = List, int64(c&0x0f)
		return v, nil
	case c < 0xc0:
		v.Kind = Text
		return r.text(v, uint64(c&0x1f))
	}
	row := heads[c-0xc0]
	if row.kind == none {
		return v, r.in.FailAt("", v.Off, wire.ErrUnsupported.Errorf("a value of the type 0x%02x: an extension, or none", c))
	}
	v.Kind = Kind(row.kind)
	n, err := r.size(row.size)
	switch {
	case err != nil:
		return v, err
	case v.Kind == Text || v.Kind == Bytes:
		return r.text(v, n)
	case v.Kind == List || v.Kind == Map:
		v.Size = int64(n)
	}
	return v, nil
}

// none is no kind: that of an extension.
const none = math.MaxUint8

// heads are the types from 0xc0 to 0xdf, and how many bytes of a number follow.
var heads = [32]struct{ kind, size uint8 }{
	0x00: {uint8(Nil), 0}, 0x01: {none, 0}, 0x02: {uint8(Bool), 0}, 0x03: {uint8(Bool), 0},
	0x04: {uint8(Bytes), 1}, 0x05: {uint8(Bytes), 2}, 0x06: {uint8(Bytes), 4},
	0x07: {none, 0}, 0x08: {none, 0}, 0x09: {none, 0},
	0x0a: {uint8(Number), 4}, 0x0b: {uint8(Number), 8},
	0x0c: {uint8(Number), 1}, 0x0d: {uint8(Number), 2}, 0x0e: {uint8(Number), 4}, 0x0f: {uint8(Number), 8},
	0x10: {uint8(Number), 1}, 0x11: {uint8(Number), 2}, 0x12: {uint8(Number), 4}, 0x13: {uint8(Number), 8},
	0x14: {none, 0}, 0x15: {none, 0}, 0x16: {none, 0}, 0x17: {none, 0}, 0x18: {none, 0},
	0x19: {uint8(Text), 1}, 0x1a: {uint8(Text), 2}, 0x1b: {uint8(Text), 4},
	0x1c: {uint8(List), 2}, 0x1d: {uint8(List), 4}, 0x1e: {uint8(Map), 2}, 0x1f: {uint8(Map), 4},
}

// size reads a number of the given bytes, most significant first.
func (r *reader) size(bytes uint8) (n uint64, err error) {
	for range bytes {
		c, err := r.in.U8()
		if err != nil {
			return 0, err
		}
		n = n<<8 | uint64(c)
	}
	return n, nil
}

// text reads a text or bytes. One longer than MaxText is skipped, without a check that it is
// UTF-8.
func (r *reader) text(v Value, n uint64) (Value, error) {
	if n > uint64(r.in.Left()) {
		return v, r.in.FailAt("", v.Off, wire.ErrTruncated.Errorf("a text of %d bytes, and %d are left", n, r.in.Left()))
	}
	v.Size = int64(n)
	if n > MaxText {
		in, err := r.in.Sub(n)
		v.Long = &in
		return v, err
	}
	s, err := r.in.String(n)
	if err != nil {
		return v, err
	}
	defer r.b.Drop(int64(n)) // the visitor charges what it keeps
	if v.Kind == Text && !utf8.ValidString(s) {
		return v, r.in.FailAt("", v.Off, wire.ErrText.Errorf("a text that is not UTF-8"))
	}
	v.Text = s
	return v, nil
}
