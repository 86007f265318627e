package form

import (
	"math"

	"github.com/anamnesis-go/anamnesis/asm"
)

// HighFirstRow returns rows of E2M1 codes, two a byte, the high nibble first.
func HighFirstRow(cols int64) Codes {
	c := PlainRows(cols/2, func(dst []float32, src []byte) {
		for i, b := range src {
			dst[2*i], dst[2*i+1] = asm.E2M1.Value(b>>4), asm.E2M1.Value(b&15)
		}
	})
	c.decodeScaled = scaledNibbles(true, func(code uint8) float32 { return asm.E2M1.Value(code) })
	return c
}

// SwizzledGrid returns a grid of scales in the order of the GPU's block-scaled product:
// tiles of 128 rows and 4 blocks.
func SwizzledGrid(rows, cols, group, bytes int64, read Number) Grid {
	groups := cols / group
	tiles := CeilDiv(groups, 4)
	place := func(r, c int64) int64 { return (r/128*tiles+c/4)*512 + r%32*16 + r%128/32*4 + c%4 }
	g := GroupGrid(rows, cols, group, 1, func(p []byte, i int64) float32 { return read(p, place(i/groups, i%groups)) })
	g.Whole = bytes
	g.line = func(dst, p []byte, r, k int64) {
		first := place(r, 0)
		for i := range dst {
			c := k + int64(i)
			dst[i] = p[first+c/4*512+c%4]
		}
	}
	return g
}

// ExponentOrZero reads E8M0 as ComfyUI does: code 0 is zero.
func ExponentOrZero(p []byte, i int64) float32 {
	if p[i] == 0 {
		return 0
	}
	return ExponentByte(p, i)
}

// ExponentsOrZero is ExponentOrZero for many codes.
func ExponentsOrZero(_ *asm.Ops, dst []float32, p []byte) {
	for i, c := range p {
		dst[i] = math.Float32frombits(uint32(c) << 23)
	}
}
