package quant

func decodeF6E2M3(dst []float32, src []byte) { sixes(dst, src, &e2m3) }
func decodeF6E3M2(dst []float32, src []byte) { sixes(dst, src, &e3m2) }

// sixes reads four 6-bit codes from three bytes, lowest bits first.
func sixes(dst []float32, src []byte, table *[256]float32) {
	blocks(dst, src, 4, 3, func(y []float32, x []byte) {
		v := uint32(x[0]) | uint32(x[1])<<8 | uint32(x[2])<<16
		for i := range y {
			y[i] = table[v>>(6*i)&63]
		}
	})
}
