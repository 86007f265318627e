package form

import "github.com/anamnesis-go/anamnesis/asm"

// Columns of weights packed by GPTQ, AWQ and bitsandbytes: some inputs of such a weight
// are a weight of their own.

// span widens columns to whole words of codes of any width.
func (f *PackedIn) span(col, n int64) (from, end int64) {
	return widenToGroups(col, n, 32, f.GroupSize, f.In)
}

func (f *PackedIn) cut(q request, a area) bool {
	r, rows, col, n := a.row, a.rows, a.col, a.cols
	if col*f.Bits%32 != 0 || n*f.Bits%32 != 0 {
		return false
	}
	s := *f
	s.In = n
	own := [...][]byte{inWeight: q.parts[inWeight][col*f.Bits/8*f.Out:], inScales: q.parts[inScales], inZeros: q.parts[inZeros], inIndex: nil}
	if len(q.parts) > inIndex && !f.inOrder(q.parts[inIndex], col, n) {
		own[inIndex] = q.parts[inIndex][4*col:][:4*n]
		return s.direct(q.withParts(own[:], r, r+rows))
	}
	first, size, count, ok := groupSpan(col, n, f.GroupSize)
	if !ok {
		return false
	}
	s.GroupSize, s.Groups = size, count
	own[inScales], own[inZeros] = q.parts[inScales][first*f.Out*f.ScaleSize:], q.parts[inZeros][first*f.Out*f.Bits/8:]
	return s.direct(q.withParts(own[:inIndex], r, r+rows))
}

func (f *PackedOut) span(col, n int64) (from, end int64) {
	return widenToGroups(col, n, 8, f.GroupSize, f.In)
}

func (f *PackedOut) cut(q request, a area) bool {
	r, rows, col, n := a.row, a.rows, a.col, a.cols
	first, size, count, ok := groupSpan(col, n, f.GroupSize)
	if !ok {
		return false
	}
	s := *f
	s.In, s.GroupSize, s.Groups = n, size, count
	own := [...][]byte{q.parts[0][col*f.Out*f.Bits/8:], q.parts[1][first*f.Out*f.ScaleSize:], q.parts[2][first*f.Out*f.Bits/8:]}
	return s.direct(q.withParts(own[:], r, r+rows))
}

func (f *Coded4) span(col, n int64) (from, end int64) {
	return widenToGroups(col, n, 8, f.Block, f.Cols)
}

// cut decodes blocks that end with the rows, or else copies scales.
func (f *Coded4) cut(q request, a area) bool {
	r, rows, col, n := a.row, a.rows, a.col, a.cols
	_, run, per, ok := groupSpan(col, n, f.Block)
	words := CeilDiv(rows*n, 8)
	if !ok || f.Cols%f.Block != 0 || n%run != 0 || run%2 != 0 || col%2 != 0 || f.Cols%2 != 0 {
		return f.perElement(q, q.lo*f.Cols, r*f.Cols+col, n, rows)
	}
	if words+rows*per+16 > int64(len(q.scratch)) {
		return false
	}
	codes, scales, codebook := asm.Raw(q.scratch[:words])[:rows*n/2], q.scratch[words:][:rows*per], (*[16]float32)(q.scratch[words+rows*per:])
	*codebook = f.codebook(q.parts)
	base := q.lo * f.Cols
	for i := range rows {
		at := (r+i)*f.Cols + col
		copy(codes[i*n/2:][:n/2], q.parts[codedCodes][(at-base)/2:])
		f.absmaxes(scales[i*per:][:per], q.parts, base/f.Block, at/f.Block)
	}
	q.o.Nibbles(asm.Nibbles{High: true, Codebook: codebook}, q.to, q.dst, codes, asm.Runs{Scales: scales, Length: int(run)})
	return true
}

func (f *Rows8) span(col, n int64) (from, end int64) { return col, col + n }

func (f *Rows8) cut(q request, a area) bool {
	r, rows, col, n := a.row, a.rows, a.col, a.cols
	words := CeilDiv(rows*n, 4)
	if words+rows > int64(len(q.scratch)) {
		return false
	}
	codes, scales := asm.Raw(q.scratch[:words])[:rows*n], q.scratch[words:][:rows]
	decodeF32(scales, q.parts[1][4*(r-q.lo):][:4*rows])
	for i := range rows {
		copy(codes[i*n:][:n], q.parts[0][(r+i-q.lo)*f.Cols+col:])
	}
	q.o.Bytes(asm.Bytes{Last: &scale127}, q.to, q.dst, codes, asm.Runs{Scales: scales, Length: int(n)})
	return true
}
