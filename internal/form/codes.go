package form

import (
	"encoding/binary"

	"github.com/anamnesis-go/anamnesis/asm"
)

// elementRows returns rows of n elements that are decoded by decode.
func elementRows(n, elems, bytes int64, decode func([]float32, []byte)) Codes {
	c := PlainRows(n/elems*bytes, decode)
	if elems == 1 {
		c.cut = func(dst []float32, row []byte, col int64) {
			decode(dst, row[col*bytes:(col+int64(len(dst)))*bytes])
		}
	}
	return c
}

// Float8Row returns rows of 8-bit floats.
func Float8Row(cols int64, f asm.Float) Codes {
	c := elementRows(cols, 1, 1, f.Decode)
	c.bits, c.Kernel = 8, plainFloat8(f)
	c.decodeScaled = func(o *asm.Ops, to asm.Type, dst, row []byte, u rowScales) bool {
		row = row[:len(dst)/to.Size()]
		switch {
		case u.divides || u.op == asm.Affine:
			return false
		case u.op == asm.Shift:
			o.Float8Shift(f, to, dst, row, asm.Runs{Scales: u.scales, Seconds: u.seconds, Length: u.run})
		default:
			o.Float8(f, to, dst, row, u.scales, u.run)
		}
		return true
	}
	return c
}

// unitScale and zeroPoint are used for codes without a scale and a zero point.
var unitScale, zeroPoint = [1]float32{1}, [1]float32{0}

// Int8Row returns rows of signed bytes.
func Int8Row(cols int64) Codes {
	c := elementRows(cols, 1, 1, decodeI8)
	c.bits = 8
	c.decodeScaled = scaledBytes(asm.Bytes{})
	return c
}

// Fp4Row returns rows of E2M1 codes, two a byte, the low nibble first.
func Fp4Row(cols int64) Codes {
	c := nibbleRow(cols, func(code uint8) float32 { return asm.E2M1.Value(code) })
	whole := elementRows(cols, 2, 1, decodeF4)
	c.pick = whole.pick
	return c
}

// Fp4PlusRow is Fp4Row for libraries in whose table code 8 is plus zero.
func Fp4PlusRow(cols int64) Codes { return nibbleRow(cols, PlusValue) }

// PlusValue returns the value of an E2M1 code, with minus zero replaced by plus zero.
func PlusValue(code uint8) float32 { return asm.E2M1.Value(code) + 0 } // -0 + 0 is 0

// nibbleRow returns rows of 4-bit codes, two a byte, the low nibble first.
func nibbleRow(cols int64, value func(code uint8) float32) Codes {
	codebook := codebookOf(value)
	c := cuttableRows(cols/2, func(dst []float32, row []byte, col int64) {
		for i := range dst {
			at := col + int64(i)
			dst[i] = codebook[row[at/2]>>(at%2*4)&15]
		}
	})
	c.bits, c.decodeScaled = 4, scaledNibbles(false, value)
	return c
}

// codebookOf returns the values of sixteen codes.
func codebookOf(value func(code uint8) float32) *[16]float32 {
	codebook := new([16]float32)
	for i := range codebook {
		codebook[i] = value(uint8(i))
	}
	return codebook
}

// StreamRow returns rows of fields in one stream of bits, lowest bits first; each row
// begins with a new word. bias is subtracted from each field.
func StreamRow(cols, bits, rowBytes int64, bias int32) Codes {
	c := cuttableRows(rowBytes, func(dst []float32, row []byte, col int64) {
		for i := range int64(len(dst)) {
			at := (col + i) * bits
			v := uint32(row[at/8]) >> (at % 8)
			if at%8+bits > 8 {
				v |= uint32(row[at/8+1]) << (8 - at%8)
			}
			dst[i] = float32(int32(v&(1<<bits-1)) - bias)
		}
	})
	c.bits, c.bias = bits, bias
	c.unpack = func(o *asm.Ops, less uint8, dst, row, _ []byte) {
		if bits == 8 {
			copy(dst, row)
			return
		}
		o.Fields(int(bits), less, dst, row[:CeilDiv(int64(len(dst))*bits, 8)])
	}
	switch {
	case bits == 4:
		nibbles, fields := scaledNibbles(false, func(code uint8) float32 { return float32(int32(code) - bias) }), scaledFields(c.unpack, bias)
		c.decodeScaled = func(o *asm.Ops, to asm.Type, dst, row []byte, u rowScales) bool {
			return nibbles(o, to, dst, row, u) || fields(o, to, dst, row, u)
		}
	case bits == 8 && (bias == 0 || bias == 128):
		c.decodeScaled = scaledBytes(asm.Bytes{Unsigned: true, Less: uint8(bias)})
	case bits < 8:
		c.decodeScaled = scaledFields(c.unpack, bias)
	}
	return c
}

// WordRow returns rows of fields packed into 32-bit words; no field crosses a word.
func WordRow(bits, rowBytes int64, bias int32) Codes {
	per := 32 / bits
	c := cuttableRows(rowBytes, func(dst []float32, row []byte, col int64) {
		for i := range int64(len(dst)) {
			at := col + i
			v := U32(row[4*(at/per):]) >> (at % per * bits)
			dst[i] = float32(int32(v&(1<<bits-1)) - bias)
		}
	})
	c.bias, c.roomBytes = bias, 2
	c.unpack = func(o *asm.Ops, less uint8, dst, row, room []byte) {
		room = room[:CeilDiv(int64(len(dst))*bits, 8)]
		joinFields(room, row, bits)
		o.Fields(int(bits), less, dst, room)
	}
	c.decodeScaled = scaledFields(c.unpack, bias)
	return c
}

// joinFields removes the unused bits after the last field of each 32-bit word.
func joinFields(dst, src []byte, bits int64) {
	used := 32 / bits * bits
	// The used bits of four words are a whole number of bytes, between 8 and 16.
	for ; len(src) >= 16 && len(dst) >= 16; dst, src = dst[used/2:], src[16:] {
		mask := uint64(1)<<used - 1
		a, b, c, d := uint64(U32(src))&mask, uint64(U32(src[4:]))&mask, uint64(U32(src[8:]))&mask, uint64(U32(src[12:]))&mask
		binary.LittleEndian.PutUint64(dst, a|b<<used|c<<(2*used))
		binary.LittleEndian.PutUint64(dst[8:], c>>(64-2*used)|d<<(3*used-64))
	}
	stream, have := uint64(0), int64(0)
	for ; len(src) >= 4; src = src[4:] {
		stream |= uint64(U32(src)&(1<<used-1)) << have
		if have += used; have >= 32 && len(dst) >= 4 {
			binary.LittleEndian.PutUint32(dst, uint32(stream))
			dst, stream, have = dst[4:], stream>>32, have-32
		}
	}
	for i := range dst {
		dst[i] = byte(stream)
		stream >>= 8
	}
}

// cuttableRows returns rows of rowBytes bytes of which cut decodes the columns from col
// on.
func cuttableRows(rowBytes int64, cut func(dst []float32, row []byte, col int64)) Codes {
	c := PlainRows(rowBytes, func(dst []float32, src []byte) { cut(dst, src, 0) })
	c.cut = cut
	return c
}
