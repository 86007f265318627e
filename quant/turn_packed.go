package quant

import "github.com/anamnesis-go/anamnesis/asm"

// Columns of weights that GPTQ, AWQ and bitsandbytes pack: those of some inputs
// are a weight of their own.

// span takes whole words of codes of any width.
func (f *gptq) span(col, n int64) (from, end int64) { return widened(col, n, 32, f.groupSize, f.in) }

func (f *gptq) cut(q request, r, rows, col, n int64) bool {
	if col*f.bits%32 != 0 || n*f.bits%32 != 0 {
		return false
	}
	s := *f
	s.in = n
	own := [...][]byte{gptqWeight: q.parts[gptqWeight][col*f.bits/8*f.out:], gptqScales: q.parts[gptqScales], gptqZeros: q.parts[gptqZeros], gptqIndex: nil}
	if len(q.parts) > gptqIndex && !f.inOrder(q.parts[gptqIndex], col, n) {
		own[gptqIndex] = q.parts[gptqIndex][4*col:][:4*n]
		return s.direct(q.of(own[:], r, r+rows))
	}
	first, size, count, ok := spanned(col, n, f.groupSize)
	if !ok {
		return false
	}
	s.groupSize, s.groups = size, count
	own[gptqScales], own[gptqZeros] = q.parts[gptqScales][first*f.out*f.scaleSize:], q.parts[gptqZeros][first*f.out*f.bits/8:]
	return s.direct(q.of(own[:gptqIndex], r, r+rows))
}

func (f *awq) span(col, n int64) (from, end int64) { return widened(col, n, 8, f.groupSize, f.in) }

func (f *awq) cut(q request, r, rows, col, n int64) bool {
	first, size, count, ok := spanned(col, n, f.groupSize)
	if !ok {
		return false
	}
	s := *f
	s.in, s.groupSize, s.groups = n, size, count
	own := [...][]byte{q.parts[0][col*f.out*f.bits/8:], q.parts[1][first*f.out*f.scaleSize:], q.parts[2][first*f.out*f.bits/8:]}
	return s.direct(q.of(own[:], r, r+rows))
}

func (f *bnb4) span(col, n int64) (from, end int64) { return widened(col, n, 8, f.block, f.cols) }

// cut takes blocks that end with the rows, or copies scales.
func (f *bnb4) cut(q request, r, rows, col, n int64) bool {
	_, run, per, ok := spanned(col, n, f.block)
	words := ceilDiv(rows*n, 8)
	if !ok || f.cols%f.block != 0 || n%run != 0 || run%2 != 0 || col%2 != 0 || f.cols%2 != 0 {
		return f.apiece(q, q.lo*f.cols, r*f.cols+col, n, rows)
	}
	if words+rows*per+16 > int64(len(q.scratch)) {
		return false
	}
	codes, scales, book := asm.Raw(q.scratch[:words])[:rows*n/2], q.scratch[words:][:rows*per], (*[16]float32)(q.scratch[words+rows*per:])
	*book = f.book(q.parts)
	base := q.lo * f.cols
	for i := range rows {
		at := (r+i)*f.cols + col
		copy(codes[i*n/2:][:n/2], q.parts[bnbCodes][(at-base)/2:])
		f.absmaxes(scales[i*per:][:per], q.parts, base/f.block, at/f.block)
	}
	q.o.Nibbles(asm.Nibbles{High: true, Book: book}, q.to, q.dst, codes, scales, nil, int(run))
	return true
}

func (f *bnb8) span(col, n int64) (from, end int64) { return col, col + n }

func (f *bnb8) cut(q request, r, rows, col, n int64) bool {
	words := ceilDiv(rows*n, 4)
	if words+rows > int64(len(q.scratch)) {
		return false
	}
	codes, scales := asm.Raw(q.scratch[:words])[:rows*n], q.scratch[words:][:rows]
	decodeF32(scales, q.parts[1][4*(r-q.lo):][:4*rows])
	for i := range rows {
		copy(codes[i*n:][:n], q.parts[0][(r+i-q.lo)*f.cols+col:])
	}
	q.o.Bytes(asm.Bytes{Last: &last127}, q.to, q.dst, codes, scales, nil, int(n))
	return true
}
