package asm

import (
	"encoding/binary"
	"math"
)

// stalls reports whether products may be subnormal: a scale is below 2^-100, or a zero
// point below 2^-24, the only way for q-z to be smaller.
func (c *Columns) stalls() bool { return someBelow(c.Scales, 27<<23) || someBelow(c.Zeros, 103<<23) }

// vanish reports whether the products of small scales and small zero points are zero as
// float16, and stay so with 2^-60 in their place: the other factors are below 2^30.
func (c *Columns) vanish() bool {
	return most(c.Zeros) < (127+29)<<24 && (most(c.Scales) < (127+30)<<24 || !someBelow(c.Zeros, 67<<23))
}

// most returns twice the bits of the largest magnitude.
func most(p []float32) (most uint32) {
	for _, b := range Raw32(p) {
		most = max(most, b<<1)
	}
	return most
}

// raised returns f, or 2^-60 with its sign if its magnitude is smaller and not zero.
func raised(f float32) float32 {
	b := math.Float32bits(f)
	if b<<1-1 < 67<<24-1 {
		b = b&(1<<31) | 67<<23
	}
	return math.Float32frombits(b)
}

// someBelow reports a number that is not zero and whose magnitude, as bits, is below
// least. It examines two at a time: minus one, a zero is the largest number, and adding
// the right constant carries into the sign.
func someBelow(p []float32, least uint64) bool {
	const ones = 1<<32 | 1
	carry, all, raw := signs32-(least-1)*ones, uint64(signs32), Raw(p)
	for ; len(raw) >= 16; raw = raw[16:] {
		a, b := binary.LittleEndian.Uint64(raw), binary.LittleEndian.Uint64(raw[8:])
		all &= ((a|signs32)-ones)&^signs32 + carry
		all &= ((b|signs32)-ones)&^signs32 + carry
	}
	for ; len(raw) > 0; raw = raw[4:] {
		a := uint64(u32(raw))
		all &= ((a|signs32)-ones)&^signs32 + carry | signs32&^(1<<31)
	}
	return all&signs32 != signs32
}

const signs32 = 1<<63 | 1<<31

// canonical returns f, or for NaN the one that kernels need, without a branch, which would
// be unpredictable.
func canonical(f float32) float32 {
	b := math.Float32bits(f)
	if b<<1 > 0xFF000000 {
		b = 0xFFC00000
	}
	return math.Float32frombits(b)
}
