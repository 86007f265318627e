package form

import "github.com/anamnesis-go/anamnesis/asm"

// decodeF4 reads two E2M1 codes a byte, the low nibble first.
func decodeF4(dst []float32, src []byte) {
	for i, c := range src {
		dst[2*i], dst[2*i+1] = asm.E2M1.Value(c&15), asm.E2M1.Value(c>>4)
	}
}

// e2m1 has the values of the E2M1 codes.
var e2m1 = codebookOf(func(code uint8) float32 { return asm.E2M1.Value(code) })

// writeF4 is decodeF4 by a kernel.
func writeF4(o *asm.Ops, to asm.Type, dst, src, _ []byte) {
	o.Nibbles(asm.Nibbles{Codebook: e2m1}, to, dst, src, asm.Runs{Scales: unitScale[:], Length: max(2, 2*len(src))})
}
