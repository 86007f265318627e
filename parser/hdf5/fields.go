package hdf5

import "github.com/anamnesis-go/anamnesis/internal/wire"

// Fields are read one after another. After an error all fields are zero, so one check before their
// use is enough.
type fields struct {
	c   *wire.Cursor
	err error
}

// u reads an integer of up to eight bytes.
func (f *fields) u(bytes int) (n uint64) {
	if f.err == nil {
		n, f.err = number(f.c, bytes)
	}
	return n
}

func (f *fields) u8() byte    { return byte(f.u(1)) }
func (f *fields) u16() uint16 { return uint16(f.u(2)) }
func (f *fields) u32() uint32 { return uint32(f.u(4)) }
func (f *fields) u64() uint64 { return f.u(8) }

func (f *fields) skip(n uint64) {
	if f.err == nil {
		f.err = f.c.Skip(n)
	}
}

// sub returns a cursor over the next n bytes.
func (f *fields) sub(n uint64) (c wire.Cursor) {
	if f.err == nil {
		c, f.err = f.c.Sub(n)
	}
	return c
}

// view returns the next n bytes without moving; after an error there are zeros where they are
// few, and none otherwise.
func (f *fields) view(n int) (p []byte) {
	if f.err == nil {
		p, f.err = f.c.View(n)
	}
	if f.err != nil {
		var zeros [sumBlock]byte
		return zeros[:min(n, len(zeros))]
	}
	return p
}
