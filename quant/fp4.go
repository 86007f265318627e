package quant

import "github.com/anamnesis-go/anamnesis/asm"

// decodeF4 reads two E2M1 codes a byte, the low nibble first.
func decodeF4(dst []float32, src []byte) {
	for i, c := range src {
		dst[2*i], dst[2*i+1] = asm.E2M1.Value(c&15), asm.E2M1.Value(c>>4)
	}
}
