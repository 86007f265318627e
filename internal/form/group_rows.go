package form

import "github.com/anamnesis-go/anamnesis/parser/tensor"

// GroupRows is q*s - shift, with two roundings. Parts: codes, scales, shifts.
type GroupRows struct {
	Cols, Rows    int64
	Bits          int64
	Stored, Width int64 // rows of codes, and their bytes
	Groups        int64
	Scale, Shift  Factor
}

func (f *GroupRows) Geometry() Geometry { return Geometry{Group: f.Rows} }

func (f *GroupRows) Need(p int, _, _ int64) tensor.Span {
	return tensor.Span{Len: [...]int64{f.Stored * f.Width, f.Groups * f.Scale.Size, f.Groups * f.Shift.Size}[p]}
}

func (f *GroupRows) decode(dst []float32, parts [][]byte, lo, hi int64) {
	for i := lo * f.Cols; i < hi*f.Cols; i++ {
		group := i / f.Width
		code := parts[0][group%f.Stored*f.Width+i%f.Width] >> (f.Bits * (group / f.Stored)) & (1<<f.Bits - 1)
		dst[i-lo*f.Cols] = float32(f.Scale.Read(parts[1], group)*float32(code)) - f.Shift.Read(parts[2], group)
	}
}

func (f *GroupRows) direct(request) bool { return false }
