package form

import (
	"math"

	"github.com/anamnesis-go/anamnesis/asm"
)

// A request asks for the rows [lo, hi) of a weight in the type to, decoded by the kernels
// of o. parts hold the bytes that these rows need. A request for a part of the rows keeps
// lo and parts.
type request struct {
	o       *asm.Ops
	dst     []byte
	to      asm.Type
	parts   [][]byte
	lo, hi  int64
	scratch []float32
}

// into returns the request with another destination.
func (q request) into(dst []byte) request {
	q.dst = dst
	return q
}

// withParts returns the request for the rows [lo, hi) of other parts.
func (q request) withParts(parts [][]byte, lo, hi int64) request {
	q.parts, q.lo, q.hi = parts, lo, hi
	return q
}

// put decodes rows by kernels, or by the reference if the form has none.
func put(f Form, q request) {
	if f.direct(q) {
		return
	}
	f.decode(q.scratch, q.parts, q.lo, q.hi)
	q.o.Put(q.to, q.dst, q.scratch)
}

func (f *BlockForm) direct(q request) bool {
	if f.Codes.Kernel == nil {
		return false
	}
	if f.MatrixRows > 0 {
		return f.directFactor(q)
	}
	f.Codes.Kernel(q.o, q.to, q.dst, q.parts[0][:(q.hi-q.lo)*f.Codes.rowBytes], asm.Raw(q.scratch))
	return true
}

// directFactor decodes some numbers at a time and multiplies them by their factor.
func (f *BlockForm) directFactor(q request) bool {
	const most, least = 1024, 64 // least is a block
	n := min(most, int64(len(q.scratch))/3/least*least)
	if n == 0 || q.o.Level() == asm.Generic { // Generic runs on any byte order
		return false
	}
	numbers, s, none := q.scratch[:n], q.scratch[n:2*n], q.scratch[2*n:3*n]
	clear(none)
	size := int64(q.to.Size())
	for r := q.lo; r < q.hi; {
		end := min(q.hi, (r/f.MatrixRows+1)*f.MatrixRows)
		factor := readF32(q.parts[1], r/f.MatrixRows-q.lo/f.MatrixRows)
		asm.Repeat(s, factor)
		for at, last := (r-q.lo)*f.Cols, (end-q.lo)*f.Cols; at < last; at += n {
			n := min(n, last-at)
			codes := q.parts[0][at*f.Codes.rowBytes/f.Cols:][:n*f.Codes.rowBytes/f.Cols]
			f.Codes.Kernel(q.o, asm.F32, asm.Raw(numbers[:n]), codes, nil)
			q.o.Each(q.to, q.dst[at*size:][:n*size], numbers[:n], s[:n], none[:n])
		}
		r = end
	}
	return true
}

// rowScales are the scales of a row: number k is for the columns from k*run on.
type rowScales struct {
	op              asm.Op
	divides         bool // divide by the scale, instead of op
	scales, seconds []float32
	run             int
	sub             int64  // index of the row in its stored row
	codes           []byte // at least one byte for each column
}

func scaledBytes(b asm.Bytes) func(*asm.Ops, asm.Type, []byte, []byte, rowScales) bool {
	return func(o *asm.Ops, to asm.Type, dst, row []byte, u rowScales) bool {
		b := b
		b.Op = u.op
		if !u.divides {
			o.Bytes(b, to, dst, row[:len(dst)/to.Size()], asm.Runs{Scales: u.scales, Seconds: u.seconds, Length: u.run})
		}
		return !u.divides
	}
}

// scaledFields decodes fields of less than eight bits, minus a bias.
func scaledFields(unpack func(o *asm.Ops, less uint8, dst, row, room []byte), bias int32) func(*asm.Ops, asm.Type, []byte, []byte, rowScales) bool {
	signed := scaledBytes(asm.Bytes{})
	return func(o *asm.Ops, to asm.Type, dst, row []byte, u rowScales) bool {
		n := len(dst) / to.Size()
		unpack(o, uint8(bias), u.codes[:n], row, u.codes[n:])
		return signed(o, to, dst, u.codes[:n], u)
	}
}

// scaledHalfBytes decodes 4-bit codes of two rows that share bytes; the first row has the
// low nibbles.
func scaledHalfBytes(value func(code uint8) float32) func(*asm.Ops, asm.Type, []byte, []byte, rowScales) bool {
	codebook := codebookOf(value)
	return func(o *asm.Ops, to asm.Type, dst, row []byte, u rowScales) bool {
		if u.op != asm.Scale || u.divides {
			return false
		}
		clear(u.seconds) // subtracting zero changes nothing
		o.HalfBytes(asm.HalfBytes{From: uint8(4 * u.sub), Codebook: codebook}, to, dst, row[:len(dst)/to.Size()], asm.Runs{Scales: u.scales, Seconds: u.seconds, Length: u.run})
		return true
	}
}

// scaledNibbles decodes 4-bit codes, the first of two in the low nibble, or in the high
// one.
func scaledNibbles(high bool, value func(code uint8) float32) func(*asm.Ops, asm.Type, []byte, []byte, rowScales) bool {
	codebook := codebookOf(value)
	return func(o *asm.Ops, to asm.Type, dst, row []byte, u rowScales) bool {
		if u.run%2 != 0 || u.divides {
			return false
		}
		o.Nibbles(asm.Nibbles{Op: u.op, High: high, Codebook: codebook}, to, dst, row[:(len(dst)/to.Size()+1)/2], asm.Runs{Scales: u.scales, Seconds: u.seconds, Length: u.run})
		return true
	}
}

// direct decodes one row at a time; the scratch holds the scales of a row.
func (f *Scaled) direct(q request) bool {
	switch {
	case f.Codes.decodeScaled == nil:
		return false
	case f.Columns:
		return f.decodeIndexed(q, q.lo)
	case f.Scales.BlockCols < 2:
		return f.directColumns(q)
	}
	return f.rows(q, q.lo)
}

// rows decodes the rows [from, hi); the parts begin with row lo.
func (f *Scaled) rows(q request, from int64) bool {
	blocks := CeilDiv(f.Cols, f.Scales.BlockCols)
	room := max(1, f.Codes.roomBytes) * f.Cols
	if 2*blocks+CeilDiv(room, 4) > int64(len(q.scratch)) {
		return false
	}
	u := rowScales{scales: q.scratch[:blocks], seconds: q.scratch[blocks : 2*blocks], run: int(f.Scales.BlockCols), codes: asm.Raw(q.scratch[2*blocks:])[:room]}
	u.op, u.divides = f.Op, f.Inverse
	rowBytes := f.Cols * int64(q.to.Size())
	for r := from; r < q.hi; r++ {
		if r == from || f.newScales(r) {
			f.fill(q.o, u, q.parts, q.lo, r, 0)
		}
		u.sub = r % f.Codes.perRow
		if !f.Codes.decodeScaled(q.o, q.to, q.dst[(r-from)*rowBytes:][:rowBytes], f.stored(q.parts[0], q.lo, r), u) {
			return false
		}
	}
	return true
}

// fill reads the scales and zero points of the blocks of row r from block k on, as pair
// does for one block.
func (f *Scaled) fill(o *asm.Ops, u rowScales, parts [][]byte, lo, r, k int64) {
	f.Scales.fill(o, u.scales, gridPos{parts[1], lo, r, k}, u.codes)
	next := 2
	if f.Seconds != nil {
		f.Seconds.fill(o, u.seconds, gridPos{parts[next], lo, r, k}, u.codes)
		next++
	}
	if f.Global == nil {
		return
	}
	g := f.Global.at(parts[next], lo, r, 0)
	for k, s := range u.scales {
		if f.Divides {
			u.scales[k] = s / g
		} else {
			u.scales[k] = s * g
		}
	}
}

// newScales reports whether row r has other scales than the row before it.
func (f *Scaled) newScales(r int64) bool {
	for _, g := range [...]*Grid{&f.Scales, f.Seconds, f.Global} {
		if g != nil && g.row(r) != g.row(r-1) {
			return true
		}
	}
	return false
}

func (f *Rows8) direct(q request) bool {
	if f.Cols == 0 || int64(len(q.scratch)) < q.hi-q.lo {
		return false
	}
	scales := q.scratch[:q.hi-q.lo]
	decodeF32(scales, q.parts[1][:4*(q.hi-q.lo)])
	q.o.Bytes(asm.Bytes{Last: &scale127}, q.to, q.dst, q.parts[0][:(q.hi-q.lo)*f.Cols], asm.Runs{Scales: scales, Length: int(f.Cols)})
	return true
}

// scale127 is Per127 as a variable, of which a slice can be made.
var scale127 = Per127

// direct decodes the rest of a block that the range begins in, and then whole blocks.
func (f *Coded4) direct(q request) bool {
	first, end := q.lo*f.Cols, q.hi*f.Cols
	blocks := CeilDiv(end, f.Block) - first/f.Block
	if first%2 != 0 || f.Block%2 != 0 {
		return f.unaligned(q, first, end)
	}
	if blocks+16 > int64(len(q.scratch)) {
		return false
	}
	scales, codebook := q.scratch[:blocks], (*[16]float32)(q.scratch[blocks:])
	*codebook = f.codebook(q.parts)
	f.absmaxes(scales, q.parts, first/f.Block, first/f.Block)
	c, size := asm.Nibbles{High: true, Codebook: codebook}, int64(q.to.Size())
	codes := q.parts[codedCodes][:CeilDiv(end, 2)-first/2]
	if n := min(f.Block-first%f.Block, end-first); n < f.Block && n%2 == 0 {
		q.o.Nibbles(c, q.to, q.dst[:n*size], codes[:n/2], asm.Runs{Scales: scales, Length: int(n)})
		q.dst, codes, scales = q.dst[n*size:], codes[n/2:], scales[1:]
	}
	if len(q.dst) > 0 {
		q.o.Nibbles(c, q.to, q.dst, codes, asm.Runs{Scales: scales, Length: int(f.Block)})
	}
	return true
}

// absmaxes reads the scales of the blocks from block from on; the parts begin with the
// scale of block base.
func (f *Coded4) absmaxes(scales []float32, parts [][]byte, base, from int64) {
	absmax := parts[codedScales]
	if !f.Nested {
		decodeF32(scales, absmax[4*(from-base):][:4*len(scales)])
		return
	}
	codes, codebook := absmax[from-base:][:len(scales)], parts[codedNestedMap]
	for i := 0; i < len(scales); {
		block := from + int64(i)
		end := min(len(scales), i+int(f.NestedBlock-block%f.NestedBlock))
		s := math.Float32frombits(U32(parts[codedNested][4*(block/f.NestedBlock-base/f.NestedBlock):]))
		for ; i < end; i++ {
			scales[i] = float32(math.Float32frombits(U32(codebook[4*int(codes[i]):]))*s) + f.Offset
		}
	}
}
