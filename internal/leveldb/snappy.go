package leveldb

import (
	"encoding/binary"

	"github.com/klauspost/compress/snappy"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// unpack makes the bytes of a compressed block.
func (bl *block) unpack() error {
	size, err := bl.snappySize()
	if err != nil {
		return err
	}
	if err := bl.t.b.Inflate(int64(len(bl.data)), int64(size)); err != nil {
		return err
	}
	out, err := bl.hold(size)
	if err != nil {
		return err
	}
	if bl.data, err = snappy.Decode(out, bl.data); err != nil {
		return bl.t.causes.Packed.Errorf("%v", err)
	}
	return nil
}

// snappySize follows compressed bytes, and returns how many they make. The library would read S2's too.
func (bl *block) snappySize() (int, error) {
	size, n := varint(bl.data[:min(len(bl.data), binary.MaxVarintLen32)])
	most, ok := wire.Int(size, 1<<31-1)
	if n == 0 || !ok {
		return 0, bl.t.causes.Packed.Errorf("no size at its beginning")
	}
	made := 0
	for p := bl.data[n:]; len(p) > 0; {
		if err := bl.t.steps.Step(); err != nil {
			return 0, err
		}
		length, offset, used := tag(p)
		if used == 0 || used > len(p) || offset > made || length > most-made {
			return 0, bl.t.causes.Packed.Errorf("%d bytes from its end on, after %d of %d", len(p), made, most)
		}
		p, made = p[used:], made+length
	}
	if made != most {
		return 0, bl.t.causes.Packed.Errorf("%d bytes, and it states %d", made, most)
	}
	return most, nil
}

// tag reads a piece of compressed bytes: how many it makes, from how far back, 0 for its own, and the bytes
// that it takes; used is 0 if it is none.
//
// Format: format_description.txt of google/snappy.
func tag(p []byte) (length, offset, used int) {
	const literal, near, far = 0, 1, 2
	kind, high := p[0]&3, int(p[0]>>2)
	width := [...]int{literal: max(high-59, 0), near: 1, far: 2, 3: 4}[kind]
	if len(p) < 1+width {
		return 0, 0, 0
	}
	var number [8]byte
	copy(number[:], p[1:1+width])
	v := int64(binary.LittleEndian.Uint64(number[:]))
	switch {
	case kind == literal && width > 0:
		high = int(min(v, 1<<31-2))
		fallthrough
	case kind == literal:
		return high + 1, 0, 1 + width + min(high, len(p)) + 1
	case v == 0 && (kind != near || high>>3 == 0), v > 1<<31-1:
		return 0, 0, 0
	case kind == near:
		return 4 + high&7, high>>3<<8 | int(v), 2
	}
	return high + 1, int(v), 1 + width
}
