package quant

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
func put(f form, q request) {
	if f.direct(q) {
		return
	}
	f.decode(q.scratch, q.parts, q.lo, q.hi)
	q.o.Put(q.to, q.dst, q.scratch)
}

func (f *blockForm) direct(q request) bool {
	if f.codes.kernel == nil {
		return false
	}
	if f.matrixRows > 0 {
		return f.byFactor(q)
	}
	f.codes.kernel(q.o, q.to, q.dst, q.parts[0][:(q.hi-q.lo)*f.codes.rowBytes], asm.Raw(q.scratch))
	return true
}

// byFactor decodes some numbers at a time, and multiplies them.
func (f *blockForm) byFactor(q request) bool {
	const most, least = 1024, 64 // a block
	n := min(most, int64(len(q.scratch))/3/least*least)
	if n == 0 || q.o.Level() == asm.Generic { // which is of any order of bytes
		return false
	}
	numbers, s, none := q.scratch[:n], q.scratch[n:2*n], q.scratch[2*n:3*n]
	clear(none)
	size := int64(q.to.Size())
	for r := q.lo; r < q.hi; {
		end := min(q.hi, (r/f.matrixRows+1)*f.matrixRows)
		factor := readF32(q.parts[1], r/f.matrixRows-q.lo/f.matrixRows)
		asm.Repeat(s, factor)
		for at, last := (r-q.lo)*f.cols, (end-q.lo)*f.cols; at < last; at += n {
			n := min(n, last-at)
			codes := q.parts[0][at*f.codes.rowBytes/f.cols:][:n*f.codes.rowBytes/f.cols]
			f.codes.kernel(q.o, asm.F32, asm.Raw(numbers[:n]), codes, nil)
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
			o.Bytes(b, to, dst, row[:len(dst)/to.Size()], u.scales, u.seconds, u.run)
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
	book := bookOf(value)
	return func(o *asm.Ops, to asm.Type, dst, row []byte, u under) bool {
		if u.op != asm.Scale || u.divides {
			return false
		}
		clear(u.seconds) // a number less zero is that number
		o.HalfBytes(asm.HalfBytes{From: uint8(4 * u.sub), Book: book}, to, dst, row[:len(dst)/to.Size()], u.scales, u.seconds, u.run)
		return true
	}
}

// underNibbles is codes of four bits, the first of two in the low nibble, or in
// the high one.
func underNibbles(high bool, value func(code uint8) float32) func(*asm.Ops, asm.Type, []byte, []byte, under) bool {
	book := bookOf(value)
	return func(o *asm.Ops, to asm.Type, dst, row []byte, u under) bool {
		if u.run%2 != 0 || u.divides {
			return false
		}
		o.Nibbles(asm.Nibbles{Op: u.op, High: high, Book: book}, to, dst, row[:(len(dst)/to.Size()+1)/2], u.scales, u.seconds, u.run)
		return true
	}
}

// direct takes rows one by one; the scratch holds the scales of a row.
func (f *scaled) direct(q request) bool {
	switch {
	case f.codes.under == nil:
		return false
	case f.columns:
		return f.indexed(q, q.lo)
	case f.scales.blockCols < 2:
		return f.byColumn(q)
	}
	return f.rows(q, q.lo)
}

// rows decodes the rows [from, hi) by what the rows from lo need.
func (f *scaled) rows(q request, from int64) bool {
	blocks := ceilDiv(f.cols, f.scales.blockCols)
	room := max(1, f.codes.rooms) * f.cols
	if 2*blocks+ceilDiv(room, 4) > int64(len(q.scratch)) {
		return false
	}
	u := under{scales: q.scratch[:blocks], seconds: q.scratch[blocks : 2*blocks], run: int(f.scales.blockCols), codes: asm.Raw(q.scratch[2*blocks:])[:room]}
	if u.divides = f.op == opDivide; !u.divides {
		u.op = asm.Op(f.op)
	}
	rowBytes := f.cols * int64(q.to.Size())
	for r := from; r < q.hi; r++ {
		if r == from || f.changes(r) {
			f.fill(q.o, u, q.parts, q.lo, r, 0)
		}
		u.sub = r % f.codes.perRow
		if !f.codes.under(q.o, q.to, q.dst[(r-from)*rowBytes:][:rowBytes], f.stored(q.parts[0], q.lo, r), u) {
			return false
		}
	}
	return true
}

// fill reads the numbers of the blocks of a row from the k-th on: what pair
// gives of each.
func (f *scaled) fill(o *asm.Ops, u under, parts [][]byte, lo, r, k int64) {
	f.scales.fill(o, u.scales, parts[1], lo, r, k, u.codes)
	next := 2
	if f.seconds != nil {
		f.seconds.fill(o, u.seconds, parts[next], lo, r, k, u.codes)
		next++
	}
	if f.global == nil {
		return
	}
	g := f.global.at(parts[next], lo, r, 0)
	for k, s := range u.scales {
		if f.divides {
			u.scales[k] = s / g
		} else {
			u.scales[k] = s * g
		}
	}
}

// changes reports whether row r has other scales than the row before it.
func (f *scaled) changes(r int64) bool {
	for _, g := range [...]*grid{&f.scales, f.seconds, f.global} {
		if g != nil && g.row(r) != g.row(r-1) {
			return true
		}
	}
	return false
}

func (f *bnb8) direct(q request) bool {
	if f.cols == 0 || int64(len(q.scratch)) < q.hi-q.lo {
		return false
	}
	scales := q.scratch[:q.hi-q.lo]
	decodeF32(scales, q.parts[1][:4*(q.hi-q.lo)])
	q.o.Bytes(asm.Bytes{Last: &last127}, q.to, q.dst, q.parts[0][:(q.hi-q.lo)*f.cols], scales, nil, int(f.cols))
	return true
}

// last127 is per127 at an address.
var last127 = per127

// direct takes what a range has of its first block, and then whole blocks.
func (f *bnb4) direct(q request) bool {
	first, end := q.lo*f.cols, q.hi*f.cols
	blocks := ceilDiv(end, f.block) - first/f.block
	if first%2 != 0 || f.block%2 != 0 {
		return f.odd(q, first, end)
	}
	if blocks+16 > int64(len(q.scratch)) {
		return false
	}
	scales, book := q.scratch[:blocks], (*[16]float32)(q.scratch[blocks:])
	*book = f.book(q.parts)
	f.absmaxes(scales, q.parts, first/f.block, first/f.block)
	c, size := asm.Nibbles{High: true, Book: book}, int64(q.to.Size())
	codes := q.parts[bnbCodes][:ceilDiv(end, 2)-first/2]
	if n := min(f.block-first%f.block, end-first); n < f.block && n%2 == 0 {
		q.o.Nibbles(c, q.to, q.dst[:n*size], codes[:n/2], scales, nil, int(n))
		q.dst, codes, scales = q.dst[n*size:], codes[n/2:], scales[1:]
	}
	if len(q.dst) > 0 {
		q.o.Nibbles(c, q.to, q.dst, codes, scales, nil, int(f.block))
	}
	return true
}

// absmaxes fills in the scales of the blocks from one on; base is the first whose
// scale is there.
func (f *bnb4) absmaxes(scales []float32, parts [][]byte, base, from int64) {
	absmax := parts[bnbAbsmax]
	if !f.nested {
		decodeF32(scales, absmax[4*(from-base):][:4*len(scales)])
		return
	}
	codes, book := absmax[from-base:][:len(scales)], parts[bnbNestedBook]
	for i := 0; i < len(scales); {
		block := from + int64(i)
		end := min(len(scales), i+int(f.nestedBlock-block%f.nestedBlock))
		s := math.Float32frombits(u32(parts[bnbNestedAbsmax][4*(block/f.nestedBlock-base/f.nestedBlock):]))
		for ; i < end; i++ {
			scales[i] = float32(math.Float32frombits(u32(book[4*int(codes[i]):]))*s) + f.offset
		}
	}
}
