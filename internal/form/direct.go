package form

import (
	"math"

	"github.com/anamnesis-go/anamnesis/asm"
)

// A request is rows of a weight, decoded by a table of kernels: the rows [lo, hi)
// in the type to, from the bytes of the parts that these rows need. What decodes
// some of them is asked by a request whose parts begin with the same row lo.
type request struct {
	o       *asm.Ops
	dst     []byte
	to      asm.Type
	parts   [][]byte
	lo, hi  int64
	scratch []float32
}

// into is the request with another destination.
func (q request) into(dst []byte) request {
	q.dst = dst
	return q
}

// of is the request for rows of other parts.
func (q request) of(parts [][]byte, lo, hi int64) request {
	q.parts, q.lo, q.hi = parts, lo, hi
	return q
}

// put decodes rows of a form by its kernels, or else by what they are compared
// with.
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
		return f.byFactor(q)
	}
	f.Codes.Kernel(q.o, q.to, q.dst, q.parts[0][:(q.hi-q.lo)*f.Codes.rowBytes], asm.Raw(q.scratch))
	return true
}

// byFactor decodes some numbers at a time, and multiplies them.
func (f *BlockForm) byFactor(q request) bool {
	const most, least = 1024, 64 // a block
	n := min(most, int64(len(q.scratch))/3/least*least)
	if n == 0 || q.o.Level() == asm.Generic { // which is of any order of bytes
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

// An under is the scales of a row: the numbers of run k are columns k*run on.
type under struct {
	op              asm.Op
	divides         bool // there is no such operation
	scales, seconds []float32
	run             int
	sub             int64  // which of the rows of a stored row it is
	codes           []byte // room for a byte for each column, or for more of them
}

func underBytes(b asm.Bytes) func(*asm.Ops, asm.Type, []byte, []byte, under) bool {
	return func(o *asm.Ops, to asm.Type, dst, row []byte, u under) bool {
		b := b
		b.Op = u.op
		if !u.divides {
			o.Bytes(b, to, dst, row[:len(dst)/to.Size()], asm.Runs{Scales: u.scales, Seconds: u.seconds, Length: u.run})
		}
		return !u.divides
	}
}

// underFields is fields of less than eight bits, less a bias.
func underFields(unpack func(o *asm.Ops, less uint8, dst, row, room []byte), bias int32) func(*asm.Ops, asm.Type, []byte, []byte, under) bool {
	signed := underBytes(asm.Bytes{})
	return func(o *asm.Ops, to asm.Type, dst, row []byte, u under) bool {
		n := len(dst) / to.Size()
		unpack(o, uint8(bias), u.codes[:n], row, u.codes[n:])
		return signed(o, to, dst, u.codes[:n], u)
	}
}

// underHalfBytes is codes of four bits, one of each byte: the first row of a
// stored one has the lower nibbles.
func underHalfBytes(value func(code uint8) float32) func(*asm.Ops, asm.Type, []byte, []byte, under) bool {
	codebook := codebookOf(value)
	return func(o *asm.Ops, to asm.Type, dst, row []byte, u under) bool {
		if u.op != asm.Scale || u.divides {
			return false
		}
		clear(u.seconds) // a number less zero is that number
		o.HalfBytes(asm.HalfBytes{From: uint8(4 * u.sub), Codebook: codebook}, to, dst, row[:len(dst)/to.Size()], asm.Runs{Scales: u.scales, Seconds: u.seconds, Length: u.run})
		return true
	}
}

// underNibbles is codes of four bits, the first of two in the low nibble, or in
// the high one.
func underNibbles(high bool, value func(code uint8) float32) func(*asm.Ops, asm.Type, []byte, []byte, under) bool {
	codebook := codebookOf(value)
	return func(o *asm.Ops, to asm.Type, dst, row []byte, u under) bool {
		if u.run%2 != 0 || u.divides {
			return false
		}
		o.Nibbles(asm.Nibbles{Op: u.op, High: high, Codebook: codebook}, to, dst, row[:(len(dst)/to.Size()+1)/2], asm.Runs{Scales: u.scales, Seconds: u.seconds, Length: u.run})
		return true
	}
}

// direct takes rows one by one; the scratch holds the scales of a row.
func (f *Scaled) direct(q request) bool {
	switch {
	case f.Codes.under == nil:
		return false
	case f.Columns:
		return f.indexed(q, q.lo)
	case f.Scales.BlockCols < 2:
		return f.byColumn(q)
	}
	return f.rows(q, q.lo)
}

// rows decodes the rows [from, hi) by what the rows from lo need.
func (f *Scaled) rows(q request, from int64) bool {
	blocks := CeilDiv(f.Cols, f.Scales.BlockCols)
	room := max(1, f.Codes.rooms) * f.Cols
	if 2*blocks+CeilDiv(room, 4) > int64(len(q.scratch)) {
		return false
	}
	u := under{scales: q.scratch[:blocks], seconds: q.scratch[blocks : 2*blocks], run: int(f.Scales.BlockCols), codes: asm.Raw(q.scratch[2*blocks:])[:room]}
	u.op, u.divides = f.Op, f.Inverse
	rowBytes := f.Cols * int64(q.to.Size())
	for r := from; r < q.hi; r++ {
		if r == from || f.changes(r) {
			f.fill(q.o, u, q.parts, q.lo, r, 0)
		}
		u.sub = r % f.Codes.perRow
		if !f.Codes.under(q.o, q.to, q.dst[(r-from)*rowBytes:][:rowBytes], f.stored(q.parts[0], q.lo, r), u) {
			return false
		}
	}
	return true
}

// fill reads the numbers of the blocks of a row from the k-th on: what pair
// gives of each.
func (f *Scaled) fill(o *asm.Ops, u under, parts [][]byte, lo, r, k int64) {
	f.Scales.fill(o, u.scales, place{parts[1], lo, r, k}, u.codes)
	next := 2
	if f.Seconds != nil {
		f.Seconds.fill(o, u.seconds, place{parts[next], lo, r, k}, u.codes)
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

// changes reports whether row r has other scales than the row before it.
func (f *Scaled) changes(r int64) bool {
	for _, g := range [...]*Grid{&f.Scales, f.Seconds, f.Global} {
		if g != nil && g.row(r) != g.row(r-1) {
			return true
		}
	}
	return false
}

func (f *Bnb8) direct(q request) bool {
	if f.Cols == 0 || int64(len(q.scratch)) < q.hi-q.lo {
		return false
	}
	scales := q.scratch[:q.hi-q.lo]
	decodeF32(scales, q.parts[1][:4*(q.hi-q.lo)])
	q.o.Bytes(asm.Bytes{Last: &last127}, q.to, q.dst, q.parts[0][:(q.hi-q.lo)*f.Cols], asm.Runs{Scales: scales, Length: int(f.Cols)})
	return true
}

// last127 is per127 at an address.
var last127 = Per127

// direct takes what a range has of its first block, and then whole blocks.
func (f *Bnb4) direct(q request) bool {
	first, end := q.lo*f.Cols, q.hi*f.Cols
	blocks := CeilDiv(end, f.Block) - first/f.Block
	if first%2 != 0 || f.Block%2 != 0 {
		return f.odd(q, first, end)
	}
	if blocks+16 > int64(len(q.scratch)) {
		return false
	}
	scales, codebook := q.scratch[:blocks], (*[16]float32)(q.scratch[blocks:])
	*codebook = f.codebook(q.parts)
	f.absmaxes(scales, q.parts, first/f.Block, first/f.Block)
	c, size := asm.Nibbles{High: true, Codebook: codebook}, int64(q.to.Size())
	codes := q.parts[bnbCodes][:CeilDiv(end, 2)-first/2]
	if n := min(f.Block-first%f.Block, end-first); n < f.Block && n%2 == 0 {
		q.o.Nibbles(c, q.to, q.dst[:n*size], codes[:n/2], asm.Runs{Scales: scales, Length: int(n)})
		q.dst, codes, scales = q.dst[n*size:], codes[n/2:], scales[1:]
	}
	if len(q.dst) > 0 {
		q.o.Nibbles(c, q.to, q.dst, codes, asm.Runs{Scales: scales, Length: int(f.Block)})
	}
	return true
}

// absmaxes fills in the scales of the blocks from one on; base is the first whose
// scale is there.
func (f *Bnb4) absmaxes(scales []float32, parts [][]byte, base, from int64) {
	absmax := parts[bnbAbsmax]
	if !f.Nested {
		decodeF32(scales, absmax[4*(from-base):][:4*len(scales)])
		return
	}
	codes, codebook := absmax[from-base:][:len(scales)], parts[bnbNestedCodebook]
	for i := 0; i < len(scales); {
		block := from + int64(i)
		end := min(len(scales), i+int(f.NestedBlock-block%f.NestedBlock))
		s := math.Float32frombits(U32(parts[bnbNestedAbsmax][4*(block/f.NestedBlock-base/f.NestedBlock):]))
		for ; i < end; i++ {
			scales[i] = float32(math.Float32frombits(U32(codebook[4*int(codes[i]):]))*s) + f.Offset
		}
	}
}
