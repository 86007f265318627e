package form

import "github.com/anamnesis-go/anamnesis/asm"

// evenRowLow reads codes of two rows in a stored one, the even in the low
// nibble.
func evenRowLow(codebook *[16]float32) func(dst []float32, src []byte, r int64) {
	return func(dst []float32, src []byte, r int64) {
		n := int64(len(dst))
		for c, b := range src[r/2*n:][:n] {
			dst[c] = codebook[b>>(r%2*4)&15]
		}
	}
}

// PairRows is codes of four bits of two rows in a stored one, the even row in the
// low nibble.
func PairRows(cols int64, value func(code uint8) float32) Codes {
	return Codes{rowBytes: cols, perRow: 2, pick: evenRowLow(codebookOf(value)), under: underHalfBytes(value)}
}

// QuarterRows is ternary codes of two bits, one more than they stand for: row r of
// a quarter of the matrix and those at the same place of the other quarters in a
// stored one.
func QuarterRows(quarter, cols int64) Codes {
	c := mixedRows(quarter*cols, 4*quarter, func(dst []float32, src []byte, r int64) {
		for c, b := range src[r%quarter*cols:][:cols] {
			dst[c] = float32(int32(b>>(2*(r/quarter))&3) - 1)
		}
	})
	c.under = func(o *asm.Ops, to asm.Type, dst, src []byte, u under) bool {
		return underTernary(o, to, dst, src[u.sub%quarter*cols:][:cols], uint8(2*(u.sub/quarter)), u)
	}
	return c
}
