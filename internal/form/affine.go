package form

import "github.com/anamnesis-go/anamnesis/parser/tensor"

// Affine is codes of a tensor of any rank under scales of one of its axes: (q - z)*s, in
// float32. A scale is of the whole tensor, of an index of the axis, or of a block of indices.
// Parts: codes, scales, zero points if there are any.
type Affine struct {
	independentRows
	Cols  int64 // numbers in a row: the last dimension
	Codes Fields
	// RowCodes are the codes from a row to the next, at least Cols.
	RowCodes int64
	// Zero is what zero points are if no part has them.
	Zero float32

	Axis          int64 // length of the axis
	Inner         int64 // numbers between two neighbors of the axis: 1 if it is the last one
	Scales, Zeros Along
	ZeroFields    Fields // nil Read without zero points
	Scale         Number
	ScaleSize     int64
	Bytes         [2]int64 // of the scales and of the zero points
}

// Along says which number belongs to an element: that at outer*Outer + a/Block*Step + inner*Each,
// for index a of the axis, between those before and those after it.
type Along struct{ Outer, Step, Each, Block int64 }

// Fields are codes of a width in bits, the lowest bits of a byte first; of 8 bits and more, Read
// reads them.
type Fields struct {
	Bits int64
	Read Number
}

// FieldsOf returns codes without a sign, of 2, 4 or 8 bits.
func FieldsOf(bits int64) Fields {
	per, mask := 8/bits, uint8(1<<bits-1)
	return Fields{bits, func(p []byte, i int64) float32 { return float32(p[i/per] >> (i % per * bits) & mask) }}
}

// local reports whether a row of the weight takes adjacent numbers, and no others do.
func (f *Affine) local(a Along) bool { return f.Inner == 1 && f.Axis == f.Cols && a.Outer > 0 }

func (f *Affine) Need(p int, lo, hi int64) tensor.Span {
	rows := func(codes, bits int64) tensor.Span {
		return tensor.Span{Off: lo * codes * bits / 8, Len: (hi - lo) * codes * bits / 8}
	}
	switch {
	case p == 0:
		return rows(f.RowCodes, f.Codes.Bits)
	case p == 1 && f.local(f.Scales):
		return rows(f.Scales.Outer, 8*f.ScaleSize)
	case p == 2 && f.local(f.Zeros):
		return rows(f.Zeros.Outer, f.ZeroFields.Bits)
	}
	return tensor.Span{Len: f.Bytes[p-1]}
}

// at returns the first number of a row, and the one of column c after it.
func (f *Affine) at(a Along, lo, r int64) (first int64, next func(c int64) int64) {
	e := r * f.Cols
	outer, index, inner := e/(f.Axis*f.Inner), e/f.Inner%f.Axis, e%f.Inner
	if f.local(a) {
		outer -= lo
	}
	if first = outer*a.Outer + index/a.Block*a.Step + inner*a.Each; f.Inner == 1 {
		return first, func(c int64) int64 { return c / a.Block * a.Step }
	}
	return first, func(c int64) int64 { return c * a.Each }
}

func (f *Affine) decode(dst []float32, parts [][]byte, lo, hi int64) {
	for r := lo; r < hi; r++ {
		row := dst[(r-lo)*f.Cols:][:f.Cols]
		codes := (r - lo) * f.RowCodes
		scale, nextScale := f.at(f.Scales, lo, r)
		if f.ZeroFields.Read == nil {
			for c := range row {
				s := f.Scale(parts[1], scale+nextScale(int64(c)))
				row[c] = (f.Codes.Read(parts[0], codes+int64(c)) - f.Zero) * s
			}
			continue
		}
		zero, nextZero := f.at(f.Zeros, lo, r)
		for c := range row {
			s, z := f.Scale(parts[1], scale+nextScale(int64(c))), f.ZeroFields.Read(parts[2], zero+nextZero(int64(c)))
			row[c] = (f.Codes.Read(parts[0], codes+int64(c)) - z) * s
		}
	}
}

func (f *Affine) direct(request) bool { return false }
