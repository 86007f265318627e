package form

import "github.com/anamnesis-go/anamnesis/parser/tensor"

// Units is a stream of codes without regard to rows, some widths in units of several
// bytes, under scales of rows, groups of columns, or the whole. With a zero point a
// number is q*s + z, rounded once, because torch.addcmul fuses. Parts: codes, scales,
// zero points.
type Units struct {
	independentRows
	Cols   int64
	Groups int64 // in a row; 0 if there is one scale
	Unit   Unit
	Code   Number
	Scale  Factor
	Zero   Factor // Read is nil without zero points
}

// A Unit is the number of codes in a number of bytes.
type Unit struct{ Codes, Bytes int64 }

// UnitOf has the unit for each width of a code in bits.
var UnitOf = map[int64]Unit{2: {4, 1}, 3: {8, 3}, 4: {2, 1}, 5: {8, 5}, 6: {4, 3}, 7: {8, 7}, 8: {1, 1}}

func (f *Units) Need(p int, lo, hi int64) tensor.Span {
	if p == 0 {
		first := lo * f.Cols / f.Unit.Codes
		return tensor.Span{Off: first * f.Unit.Bytes, Len: (CeilDiv(hi*f.Cols, f.Unit.Codes) - first) * f.Unit.Bytes}
	}
	size := f.Scale.Size
	if p == 2 {
		size = f.Zero.Size
	}
	if f.Groups == 0 {
		return tensor.Span{Len: size}
	}
	return tensor.Span{Off: lo * f.Groups * size, Len: (hi - lo) * f.Groups * size}
}

func (f *Units) decode(dst []float32, parts [][]byte, lo, hi int64) {
	first := lo * f.Cols / f.Unit.Codes * f.Unit.Codes
	width := f.Cols / max(1, f.Groups)
	for i := range dst[:(hi-lo)*f.Cols] {
		k := int64(i) / width
		if f.Groups == 0 {
			k = 0
		}
		q, s := f.Code(parts[0], lo*f.Cols-first+int64(i)), f.Scale.Read(parts[1], k)
		if f.Zero.Read == nil {
			dst[i] = q * s
			continue
		}
		dst[i] = float32(float64(q)*float64(s) + float64(f.Zero.Read(parts[2], k))) // the product is exact
	}
}

func (f *Units) direct(request) bool { return false }

// UnitCode returns a function that reads code i. The bits of a byte that its own code
// does not use hold bits of the last codes of its unit.
func UnitCode(bits int64) func(p []byte, i int64) uint8 {
	u := UnitOf[bits]
	mask := uint8(1<<bits - 1)
	return func(p []byte, i int64) uint8 {
		k := i % u.Codes
		b := p[i/u.Codes*u.Bytes:][:u.Bytes]
		switch {
		case u.Bytes == 1:
			return b[0] >> (bits * k) & mask
		case k < u.Bytes:
			return b[k] & mask
		case bits == 7:
			var q uint8
			for j, v := range b {
				q |= v >> (j + 1) & (64 >> j)
			}
			return q
		case bits == 6:
			return b[0]>>2&48 | b[1]>>4&12 | b[2]>>6
		case bits == 5 && k < 7:
			return b[k-5]>>5 | b[k-2]>>2&24
		case bits == 5:
			return b[2]>>5 | b[3]>>3&16 | b[4]>>4&8
		case k < 6: // 3-bit codes
			return b[k-3] >> 3 & 7
		default:
			return b[k-6]>>6 | b[2]>>(k-2)&4
		}
	}
}
