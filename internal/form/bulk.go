package form

import (
	"math"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A bulk converts consecutive numbers of a part to float32 by kernels. It may write
// float32 values to memory as bytes, since machines with kernels are little-endian.
type bulk func(o *asm.Ops, dst []float32, p []byte)

// ScaleBulk returns [BulkOf] for a type of scales, where a plain byte is an exponent, as
// [ExponentByte] reads it.
func ScaleBulk(d tensor.DType) bulk {
	if d == tensor.U8 {
		return func(_ *asm.Ops, dst []float32, p []byte) { exponentBytes(dst, p) }
	}
	return BulkOf(d)
}

// BulkOf returns the bulk conversion of a type, with the numbers of [Numbers]; nil if they are
// read one by one.
func BulkOf(d tensor.DType) bulk {
	switch d {
	case tensor.F16:
		return func(o *asm.Ops, dst []float32, p []byte) { o.Cast(asm.F16, asm.F32, asm.Raw(dst), p) }
	case tensor.BF16:
		return func(o *asm.Ops, dst []float32, p []byte) { o.Cast(asm.BF16, asm.F32, asm.Raw(dst), p) }
	case tensor.F32:
		return func(_ *asm.Ops, dst []float32, p []byte) { copy(asm.Raw(dst), p) }
	case tensor.F8E4M3:
		return func(o *asm.Ops, dst []float32, p []byte) {
			o.Float8(asm.E4M3, asm.F32, asm.Raw(dst), p, unitScale[:], max(1, len(p)))
		}
	case tensor.I8:
		return func(o *asm.Ops, dst []float32, p []byte) { writeI8(o, asm.F32, asm.Raw(dst), p, nil) }
	case tensor.U8:
		return func(o *asm.Ops, dst []float32, p []byte) { writeU8(o, asm.F32, asm.Raw(dst), p, nil) }
	case tensor.F8E8M0:
		return func(_ *asm.Ops, dst []float32, p []byte) { decodeF8E8M0(dst, p) }
	}
	return nil
}

// exponentBytes is [ExponentByte] for many bytes. FF gives the bits of infinity.
func exponentBytes(dst []float32, p []byte) {
	for i, c := range p {
		bits := uint32(c) << 23
		if c == 0 {
			bits = 1 << 22
		}
		dst[i] = math.Float32frombits(bits)
	}
}

// fewNumbers or less are read faster one by one than by a kernel.
const fewNumbers = 8

// A gridPos is the position of number k in the grid's row for row r of the weight. p
// begins with the bytes that row lo needs.
type gridPos struct {
	p        []byte
	lo, r, k int64
}

// fill reads numbers of a row of the grid, starting at from. room is scratch for numbers
// in their stored type.
func (g *Grid) fill(o *asm.Ops, dst []float32, from gridPos, room []byte) {
	p, r, k := from.p, from.r, from.k
	at := g.row(r)*g.Cols + k
	if g.Whole == 0 {
		at -= g.row(from.lo) * g.Cols
	}
	many := len(dst) > fewNumbers && o.Level() != asm.Generic
	if bytes := int64(len(dst)) * g.Size; many && g.Bulk != nil && g.line != nil && bytes <= int64(len(room)) {
		g.line(room[:bytes], p, g.row(r), k)
		g.Bulk(o, dst, room[:bytes])
		return
	}
	if many && g.Bulk != nil && g.line == nil {
		g.Bulk(o, dst, p[at*g.Size:][:int64(len(dst))*g.Size])
		return
	}
	if many && g.pick != nil && len(dst) <= len(room) && g.pick(o, dst, p, g.row(r), k, room[:len(dst)]) {
		return
	}
	for i := range dst {
		dst[i] = g.Read(p, at+int64(i))
	}
}

// fillRows reads dst for several rows at once, the same numbers of each, starting at
// from. It returns false if rows share the numbers, or if there is no bulk conversion.
func (g *Grid) fillRows(o *asm.Ops, dst []float32, from gridPos, rows int64, room []byte) bool {
	bytes := int64(len(dst)) * g.Size
	if g.Bulk == nil || g.line != nil || g.Whole != 0 || g.BlockRows != 1 || bytes > int64(len(room)) || o.Level() == asm.Generic {
		return false
	}
	for i, n := int64(0), bytes/rows; i < rows; i++ {
		copy(room[i*n:][:n], from.p[((from.r+i-from.lo)*g.Cols+from.k)*g.Size:])
	}
	g.Bulk(o, dst, room[:bytes])
	return true
}
