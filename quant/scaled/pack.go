package scaled

import "math"

// Pack writes codes of some bits one after the other, lowest bits first. Together they
// must fill whole bytes.
func Pack(dst, codes []byte, bits int) {
	switch bits {
	case 8:
		copy(dst, codes)
		return
	case 4:
		for i := range len(codes) / 2 {
			dst[i] = codes[2*i] | codes[2*i+1]<<4
		}
		return
	}
	at, have, word := 0, 0, uint32(0)
	for _, c := range codes {
		word |= uint32(c) << have
		for have += bits; have >= 8; have -= 8 {
			dst[at] = byte(word)
			at, word = at+1, word>>8
		}
	}
}

// ToE8M0 returns the byte of a power of two that is at least 2^-127.
func ToE8M0(x float32) byte { return byte(math.Float32bits(x) >> 23) }
