package quant

import "github.com/anamnesis-go/anamnesis/asm"

// Columns of weights that GPTQ, AWQ and bitsandbytes pack: those of some inputs
// are a weight of their own.

// span takes whole words of codes of any width.
func (f *gptq) span(col, n int64) (from, end int64) { return widened(col, n, 32, f.groupSize, f.in) }

func (f *gptq) cut(o *asm.Ops, dst []byte, to asm.Type, parts [][]byte, _, r, rows, col, n int64, scratch []float32) bool {
	if col*f.bits%32 != 0 || n*f.bits%32 != 0 {
		return false
	}
	s := *f
	s.in = n
	own := [...][]byte{gptqWeight: parts[gptqWeight][col*f.bits/8*f.out:], gptqScales: parts[gptqScales], gptqZeros: parts[gptqZeros], gptqIndex: nil}
	if len(parts) > gptqIndex && !f.inOrder(parts[gptqIndex], col, n) {
		own[gptqIndex] = parts[gptqIndex][4*col:][:4*n]
		return s.direct(o, dst, to, own[:], r, r+rows, scratch)
	}
	first, size, count, ok := spanned(col, n, f.groupSize)
	if !ok {
		return false
	}
	s.groupSize, s.groups = size, count
	own[gptqScales], own[gptqZeros] = parts[gptqScales][first*f.out*f.scaleSize:], parts[gptqZeros][first*f.out*f.bits/8:]
	return s.direct(o, dst, to, own[:gptqIndex], r, r+rows, scratch)
}

func (f *awq) span(col, n int64) (from, end int64) { return widened(col, n, 8, f.groupSize, f.in) }

func (f *awq) cut(o *asm.Ops, dst []byte, to asm.Type, parts [][]byte, _, r, rows, col, n int64, scratch []float32) bool {
	first, size, count, ok := spanned(col, n, f.groupSize)
	if !ok {
		return false
	}
	s := *f
	s.in, s.groupSize, s.groups = n, size, count
	own := [...][]byte{parts[0][col*f.out*f.bits/8:], parts[1][first*f.out*f.scaleSize:], parts[2][first*f.out*f.bits/8:]}
	return s.direct(o, dst, to, own[:], r, r+rows, scratch)
}

func (f *bnb4) span(col, n int64) (from, end int64) { return widened(col, n, 8, f.block, f.cols) }

// cut takes blocks that end with the rows, or copies scales.
func (f *bnb4) cut(o *asm.Ops, dst []byte, to asm.Type, parts [][]byte, lo, r, rows, col, n int64, scratch []float32) bool {
	_, run, per, ok := spanned(col, n, f.block)
	words := ceilDiv(rows*n, 8)
	if !ok || f.cols%f.block != 0 || n%run != 0 || run%2 != 0 || col%2 != 0 || f.cols%2 != 0 {
		return f.apiece(o, dst, to, parts, lo*f.cols, r*f.cols+col, n, rows, scratch)
	}
	if words+rows*per+16 > int64(len(scratch)) {
		return false
	}
	codes, scales, book := asm.Raw(scratch[:words])[:rows*n/2], scratch[words:][:rows*per], (*[16]float32)(scratch[words+rows*per:])
	*book = f.book(parts)
	base := lo * f.cols
	for i := range rows {
		at := (r+i)*f.cols + col
		copy(codes[i*n/2:][:n/2], parts[bnbCodes][(at-base)/2:])
		f.absmaxes(scales[i*per:][:per], parts, base/f.block, at/f.block)
	}
	o.Nibbles(asm.Nibbles{High: true, Book: book}, to, dst, codes, scales, nil, int(run))
	return true
}

func (f *bnb8) span(col, n int64) (from, end int64) { return col, col + n }

func (f *bnb8) cut(o *asm.Ops, dst []byte, to asm.Type, parts [][]byte, lo, r, rows, col, n int64, scratch []float32) bool {
	words := ceilDiv(rows*n, 4)
	if words+rows > int64(len(scratch)) {
		return false
	}
	codes, scales := asm.Raw(scratch[:words])[:rows*n], scratch[words:][:rows]
	decodeF32(scales, parts[1][4*(r-lo):][:4*rows])
	for i := range rows {
		copy(codes[i*n:][:n], parts[0][(r+i-lo)*f.cols+col:])
	}
	o.Bytes(asm.Bytes{Last: &last127}, to, dst, codes, scales, nil, int(n))
	return true
}
