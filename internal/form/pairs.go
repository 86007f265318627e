package form

import "github.com/anamnesis-go/anamnesis/asm"

// evenRowLow decodes codes of two rows that share bytes, the even row in the low nibble.
func evenRowLow(codebook *[16]float32) func(dst []float32, src []byte, r int64) {
	return func(dst []float32, src []byte, r int64) {
		n := int64(len(dst))
		for c, b := range src[r/2*n:][:n] {
			dst[c] = codebook[b>>(r%2*4)&15]
		}
	}
}

// PairRows returns 4-bit codes of two rows per stored row, the even row in the low
// nibble.
func PairRows(cols int64, value func(code uint8) float32) Codes {
	return Codes{rowBytes: cols, perRow: 2, pick: evenRowLow(codebookOf(value)), decodeScaled: scaledHalfBytes(value)}
}

// QuarterRows returns 2-bit ternary codes, each one more than its value. A stored row
// holds row r of each quarter of the matrix.
func QuarterRows(quarter, cols int64) Codes {
	c := scatteredRows(quarter*cols, 4*quarter, func(dst []float32, src []byte, r int64) {
		for c, b := range src[r%quarter*cols:][:cols] {
			dst[c] = float32(int32(b>>(2*(r/quarter))&3) - 1)
		}
	})
	c.decodeScaled = func(o *asm.Ops, to asm.Type, dst, src []byte, u rowScales) bool {
		return scaledTernary(o, to, dst, src[u.sub%quarter*cols:][:cols], uint8(2*(u.sub/quarter)), u)
	}
	return c
}
