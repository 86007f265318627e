package form

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Reshaped is codes of a matrix that was reshaped before it was packed, so that groups are its
// rows (axis 1) or its columns (axis 0). Rows of the reshaped matrix share stored
// numbers, the first rows in the highest bits. Parts: W_q, scale, zero.
type Reshaped struct {
	cols, Total int64
	Bits        int64
	ByColumn    bool  // axis 0: the groups are columns
	Width       int64 // columns of the reshaped matrix
	Height      int64 // rows of the reshaped matrix
	Stored      int64 // rows of W_q
	Read        Number
	Size        int64
	Bulk        bulk
}

func (f *Reshaped) Geometry() Geometry { return Geometry{Group: f.Total / max(1, f.cols)} }

func (f *Reshaped) Need(p int, _, _ int64) tensor.Span {
	if p == 0 {
		bytes := int64(1)
		if f.Bits == 3 {
			bytes = 4
		}
		return tensor.Span{Len: f.Stored * f.Width * bytes}
	}
	return tensor.Span{Len: f.Groups() * f.Size}
}

func (f *Reshaped) Groups() int64 {
	if f.ByColumn {
		return f.Width
	}
	return f.Height
}

func (f *Reshaped) decode(dst []float32, parts [][]byte, lo, hi int64) {
	for i := lo * f.cols; i < hi*f.cols; i++ {
		row, col := i/f.Width, i%f.Width
		group := row
		if f.ByColumn {
			group = col
		}
		q := f.code(parts[0], row, col)
		dst[i-lo*f.cols] = float32(q-f.Read(parts[2], group)) * f.Read(parts[1], group)
	}
}

// code reads one code. Row r is in stored row r mod Stored, and the first rows are in the
// highest field.
func (f *Reshaped) code(p []byte, r, c int64) float32 {
	at, field := r%f.Stored*f.Width+c, r/f.Stored
	if f.Bits == 3 {
		return float32(U32(p[4*at:]) >> (27 - 3*field) & 7)
	}
	return float32(p[at] >> (8 - f.Bits*(field+1)) & uint8(1<<f.Bits-1))
}

// fieldsOf is the number of codes in a stored number, by the bits of a code.
var fieldsOf = map[int64]int64{1: 8, 2: 4, 3: 10, 4: 2, 8: 1}

// Lay sets the sizes for a matrix of this shape, or returns an error if the codes do not
// fit it.
func (f *Reshaped) Lay(info *tensor.Info, shape []int64, axis int64) error {
	fields := fieldsOf[f.Bits]
	want := tensor.U8
	if f.Bits == 3 {
		want = tensor.I32
	}
	n, ok := wire.Product(shape)
	switch {
	case fields == 0:
		return wire.ErrUnsupported.Errorf("codes of %d bits", f.Bits)
	case info.DType != want:
		return wire.ErrUnsupported.Errorf("codes of %d bits in %s: is the meta data quantized?", f.Bits, info.TypeName())
	case axis != 0 && axis != 1:
		return wire.ErrRange.Errorf("axis %d", axis)
	case !ok || len(shape) == 0 || n == 0 || f.Width == 0 || int64(n)%f.Width != 0:
		return wire.ErrMismatch.Errorf("codes of shape %v for a weight of %v", info.Shape, shape)
	}
	f.ByColumn, f.Total, f.cols = axis == 0, int64(n), shape[len(shape)-1]
	f.Height = f.Total / f.Width
	if CeilDiv(f.Height, fields) != f.Stored {
		return wire.ErrMismatch.Errorf("codes of shape %v for a weight of %v", info.Shape, shape)
	}
	return nil
}
