package gguf

import (
	"math"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// MaxKeyBytes is the longest key that the specification allows.
const MaxKeyBytes = 65535

// A pair is one key and the place of its value. Scalars are kept, arrays are not.
type pair struct {
	key  string
	str  string      // a string value
	off  int64       // of the key's length
	body tensor.Span // of the value; of an array: of its elements
	num  uint64      // bits of any other scalar; of an array: the number of elements
	kind Kind
	elem Kind // of an array
}

// startKeys allocates the list of keys, whose number is bounded by counts.
func (d *decoder) startKeys() error {
	var err error
	f := d.out
	if f.pairs, err = limits.Make[pair](d.b, min(d.keys, 1<<10)); err != nil {
		return d.c.Fail("", err)
	}
	f.pairs = f.pairs[:0]
	d.names, err = wire.NewNameSet(d.b, min(d.keys, 1<<10), func(i int) string { return f.pairs[i].key })
	if err != nil {
		return d.c.Fail("", err)
	}
	if d.keys == 0 {
		d.stage = stAlign
	}
	return nil
}

// key reads one key and its value.
func (d *decoder) key() error {
	f := d.out
	i := len(f.pairs)
	p := pair{off: d.c.Off()}
	if d.trace != nil {
		d.trace.head("key %d", i)
	}
	if err := d.keyName(&p); err != nil {
		return within(place("key", i, ""), d.c.Off(), err)
	}
	if err := d.value(&p); err != nil {
		return within(place("key", i, p.key), d.c.Off(), err)
	}
	var err error
	if f.pairs, err = limits.Append(d.b, f.pairs, p); err != nil {
		return d.c.FailAt(place("key", i, p.key), p.off, err)
	}
	earlier, added, err := d.names.Add(i)
	if err != nil {
		return d.c.FailAt(place("key", i, p.key), p.off, err)
	}
	if !added {
		return d.c.FailAt(place("key", i, p.key), p.off, wire.ErrDuplicate.WithRule("gguf.key-twice").Errorf("key %d has the same name", earlier))
	}
	if len(f.pairs) == d.keys {
		d.stage = stAlign
	}
	return nil
}

func (d *decoder) keyName(p *pair) error {
	key, err := d.text("key", MaxKeyBytes, false)
	if err != nil {
		return err
	}
	if key == "" {
		return d.c.FailAt("", p.off, wire.ErrRange.WithRule("gguf.key-empty").Errorf("a key is empty"))
	}
	p.key = key
	return nil
}

// value reads the kind of a value and the value, or skips the elements of an array.
func (d *decoder) value(p *pair) error {
	kind, err := d.kind("value type")
	if err != nil {
		return err
	}
	p.kind = kind
	p.body.Off = d.c.Off()
	switch kind {
	case KindString:
		p.str, err = d.text("value", math.MaxInt64, false)
	case KindArray:
		var a Array
		a, err = d.array()
		p.elem, p.num, p.body = a.elem, a.n, a.span
		return err
	default:
		p.num, err = d.scalar(kind)
	}
	p.body.Len = d.c.Off() - p.body.Off
	return err
}

// scalarValue converts the bits of a scalar to its Go type.
func scalarValue(k Kind, n uint64) any {
	switch k {
	case KindU8:
		return uint8(n)
	case KindI8:
		return int8(n)
	case KindU16:
		return uint16(n)
	case KindI16:
		return int16(n)
	case KindU32:
		return uint32(n)
	case KindI32:
		return int32(n)
	case KindF32:
		return math.Float32frombits(uint32(n))
	case KindBool:
		return n != 0
	case KindU64:
		return n
	case KindI64:
		return int64(n)
	case KindF64:
		return math.Float64frombits(n)
	default:
		panic("internal error: not a scalar kind")
	}
}
