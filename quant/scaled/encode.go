package scaled

import (
	"math"

	"github.com/anamnesis-go/anamnesis/asm"
)

// Encode quantizes one row of blocks; of a long row, the blocks from scale first on that fit into
// scales. The numbers and codes are those of whole rows; the numbers are already rounded to d.
func (f *Format) Encode(codes []byte, scales, src []float32, first, cols int64, d asm.Type) error {
	width, rowBytes := f.width(cols), f.RowBytes(cols)
	lo := first * width
	hi := min(lo+int64(len(scales))*width, cols)
	rows := int64(len(src)) / cols
	clear(scales)
	for r := range rows {
		if err := largest(scales, src[r*cols+lo:r*cols+hi], width, r*cols+lo); err != nil {
			return err
		}
	}
	for k, most := range scales {
		factor := f.factor(most, d)
		from := lo + int64(k)*width
		to := min(from+width, hi)
		if !isFinite(factor) {
			return &Bad{from, src[from]}
		}
		for r := range rows {
			f.codes(codes[r*rowBytes:(r+1)*rowBytes], from, src[r*cols+from:r*cols+to], factor, d)
		}
		scales[k] = factor
		if f.Inverse {
			scales[k] = 1 / factor
		}
	}
	return nil
}

// width returns how many numbers of a row share a scale.
func (f *Format) width(cols int64) int64 {
	if f.Cols == 0 {
		return cols
	}
	return f.Cols
}

// largest updates the largest magnitude of each block with those of a row, which begins
// at number at.
func largest(line, row []float32, width, at int64) error {
	var room [64]float32
	for k := 0; k < len(line); k += len(room) {
		most := room[:min(len(room), len(line)-k)]
		lo := int64(k) * width
		hi := min(lo+int64(len(most))*width, int64(len(row)))
		asm.Best().Absmax(most, row[lo:hi], int(width))
		for i, m := range most {
			if !isFinite(m) {
				return firstBad(row, lo+int64(i)*width, at)
			}
			line[k+i] = max(line[k+i], m)
		}
	}
	return nil
}

// firstBad returns the index of the first number that is not finite, starting at from.
func firstBad(row []float32, from, at int64) error {
	for isFinite(row[from]) {
		from++
	}
	return &Bad{at + from, row[from]}
}

func abs(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }

// factor returns what the numbers of a block are multiplied by (Inverse) or divided by,
// from the largest magnitude.
func (f *Format) factor(most float32, d asm.Type) float32 {
	switch {
	case f.Inverse && most == 0:
		return 1
	case f.Inverse:
		return 1 / most * f.Code.halfRange() // torch divides a number by a tensor this way
	case f.Precision == WideAll:
		d = asm.F32
	}
	scale := round(d, most/f.Code.halfRange())
	switch {
	case f.Reciprocal:
		return max(scale, epsilon(asm.F32))
	case scale == 0:
		return epsilon(d)
	}
	return scale
}

// codes encodes numbers of a row from number at on.
func (f *Format) codes(row []byte, at int64, src []float32, factor float32, d asm.Type) {
	if f.Wide() {
		d = asm.F32
	}
	if f.Code == E4M3 {
		out := row[at:][:len(src)]
		if f.Inverse {
			asm.Best().E4M3Times(out, src, factor)
		} else {
			asm.Best().E4M3Over(out, src, factor, d)
		}
		return
	}
	var list [256]float32
	for len(src) > 0 {
		part := list[:min(len(src), len(list))]
		if f.Reciprocal {
			times(part, src, 1/factor)
		} else {
			divide(part, src, factor, d)
		}
		f.Code.put(row, at, part)
		at, src = at+int64(len(part)), src[len(part):]
	}
}

// divide rounds quotients to the type d.
func divide(dst, src []float32, factor float32, d asm.Type) {
	switch d {
	case asm.BF16:
		for i := range dst {
			dst[i] = asm.BfloatToFloat(asm.FloatToBfloat(src[i] / factor))
		}
	case asm.F16:
		for i := range dst {
			dst[i] = asm.HalfToFloat(asm.FloatToHalf(src[i] / factor))
		}
	default:
		for i := range dst {
			dst[i] = src[i] / factor
		}
	}
}

func times(dst, src []float32, factor float32) {
	for i := range dst {
		dst[i] = src[i] * factor
	}
}

// put writes the codes of scaled numbers, from number at of the row on.
func (c Code) put(row []byte, at int64, list []float32) {
	switch c {
	case E5M2:
		for i, x := range list {
			row[at+int64(i)] = ToE5M2(min(max(x, -57344), 57344))
		}
	case Int4:
		for i, x := range list {
			n := at + int64(i)
			code := byte(nearest(x, -8, 7) + 8)
			if n%2 == 0 {
				row[n/2] = code
			} else {
				row[n/2] |= code << 4
			}
		}
	default:
		offset := int32(0)
		if c == Int8Packed {
			offset = 128
		}
		out := row[at:][:len(list)]
		for i, x := range list {
			out[i] = byte(nearest(x, -128, 127) + offset)
		}
	}
}

// nearest returns the nearest integer in [low, high], ties to even. Floats between 2^23
// and 2^24 have no fraction, so the addition rounds.
func nearest(x, low, high float32) int32 {
	const whole = 3 << 22
	return int32(math.Float32bits(float32(min(max(x, low), high)+whole))) - 0x4B400000
}

// ToE4M3 rounds to nearest, ties to even; magnitudes above 448 become 448.
func ToE4M3(x float32) byte { return asm.ToE4M3(x) }

// FromE4M3 returns the value of a code that is not NaN.
func FromE4M3(c byte) float32 {
	exp, man := c>>3&15, float64(c&7)
	x := man * 0x1p-9
	if exp > 0 {
		x = math.Ldexp(8+man, int(exp)-10)
	}
	if c >= 0x80 {
		x = -x
	}
	return float32(x)
}

// ToE5M2 rounds to nearest, ties to even. The code is the upper byte of the float16.
// Magnitudes above the range become infinite.
func ToE5M2(x float32) byte {
	bits := math.Float32bits(x)
	sign, mag := byte(bits>>24&0x80), bits&0x7FFFFFFF
	if mag < 0x38800000 { // below 2^-14, in units of 2^-16
		const whole = 3 << 22 // floats from 2^23 on have no fraction, so the addition rounds
		return sign | byte(math.Float32bits(float32(math.Float32frombits(mag)*0x1p16)+whole)-0x4B400000)
	}
	mag += 0xFFFFF + mag>>21&1 // keep the 8 exponent bits and 2 of the fraction
	return sign | byte(min(mag>>21-112<<2, 0x7C))
}

// FromE5M2 returns the value of a code, the upper byte of a float16.
func FromE5M2(c byte) float32 { return asm.HalfToFloat(uint16(c) << 8) }

// Decode returns the value of code i of a row under a scale, in float32.
func (f *Format) Decode(codes []byte, i int64, scale float32) float32 {
	switch f.Code {
	case E4M3:
		return FromE4M3(codes[i]) * scale
	case E5M2:
		return FromE5M2(codes[i]) * scale
	case Int4:
		return float32(int(codes[i/2]>>(i%2*4)&15)-8) * scale
	case Int8Packed:
		return float32(int(codes[i])-128) * scale
	}
	return float32(int8(codes[i])) * scale
}
