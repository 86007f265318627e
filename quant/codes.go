package quant

// rowOf is rows of n elements that a codec decodes.
func rowOf(n, elems, bytes int64, decode func([]float32, []byte)) codes {
	return plainRows(n/elems*bytes, decode)
}

// fp4Row is rows of E2M1, two a byte, the low nibble first.
func fp4Row(cols int64) codes { return rowOf(cols, 2, 1, decodeF4) }

// fp4PlusRow is the same where the library's table says plus zero for code 8.
func fp4PlusRow(cols int64) codes {
	return rowOf(cols, 2, 1, func(dst []float32, src []byte) {
		for i, c := range src {
			dst[2*i], dst[2*i+1] = fp4Doubled[c&15]*0.5, fp4Doubled[c>>4]*0.5
		}
	})
}

// streamRow is rows of fields of a few bits in one stream, lowest bits first,
// each row beginning with a word; bias is taken off each field.
func streamRow(cols, bits, rowBytes int64, bias int32) codes {
	return plainRows(rowBytes, func(dst []float32, src []byte) {
		for i := range int64(len(dst)) {
			at := i * bits
			v := uint32(src[at/8]) >> (at % 8)
			if at%8+bits > 8 {
				v |= uint32(src[at/8+1]) << (8 - at%8)
			}
			dst[i] = float32(int32(v&(1<<bits-1)) - bias)
		}
	})
}

// wordRow is rows of fields packed into words of 32 bits that no field crosses.
func wordRow(bits, rowBytes int64, bias int32) codes {
	per := 32 / bits
	return plainRows(rowBytes, func(dst []float32, src []byte) {
		for i := range int64(len(dst)) {
			v := u32(src[4*(i/per):]) >> (i % per * bits)
			dst[i] = float32(int32(v&(1<<bits-1)) - bias)
		}
	})
}
