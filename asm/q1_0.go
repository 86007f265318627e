package asm

// A block is d and 128 signs, lowest bit first: d where the bit is set, else -d.
func decodeQ1_0(dst []float32, src []byte) {
	blocks(dst, src, 128, 18, func(y []float32, x []byte) {
		d := half(x)
		for i := range y {
			if x[2+i/8]>>(i%8)&1 == 1 {
				y[i] = d
			} else {
				y[i] = -d
			}
		}
	})
}
