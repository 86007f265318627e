package protobuf

import "github.com/anamnesis-go/anamnesis/internal/wire"

// Values reads the numbers of one field of a message, one after the other, packed or not.
// The message must have been read by [Reader.Message] before.
type Values struct {
	r      *Reader
	c      wire.Cursor
	in     wire.Cursor // what is left of a packed list
	packed bool
	field  uint64
	kind   Kind
}

// Values returns a reader of the numbers of a field of the message that c is over.
func (r *Reader) Values(c wire.Cursor, field uint64, k Kind) *Values {
	return &Values{r: r, c: c, field: field, kind: k}
}

// Next returns the next number, or false after the last one.
func (v *Values) Next() (x uint64, ok bool, err error) {
	for {
		if err := v.r.steps.Step(); err != nil {
			return 0, false, v.c.Fail("", err)
		}
		if v.packed && v.in.Left() > 0 {
			x, err := v.r.scalar(&v.in, v.kind)
			return x, err == nil, err
		}
		v.packed = false
		if v.c.Left() == 0 {
			return 0, false, nil
		}
		tag, err := v.r.varint(&v.c)
		if err != nil {
			return 0, false, err
		}
		switch {
		case tag>>3 != v.field:
			err = v.skip(tag & 7)
		case tag&7 != wireBytes:
			x, err := v.r.scalar(&v.c, v.kind)
			return x, err == nil, err
		default:
			var n uint64
			if n, err = v.r.varint(&v.c); err == nil {
				v.in, err = v.c.Sub(n)
			}
			v.packed = true
		}
		if err != nil {
			return 0, false, err
		}
	}
}

// skip skips the value of another field.
func (v *Values) skip(typ uint64) error {
	switch typ {
	case wire32:
		return v.c.Skip(4)
	case wire64:
		return v.c.Skip(8)
	}
	n, err := v.r.varint(&v.c)
	if err == nil && typ == wireBytes {
		err = v.c.Skip(n)
	}
	return err
}
