package form

import (
	"encoding/binary"

	"github.com/anamnesis-go/anamnesis/asm"
)

// Columns that were quantized out of order have a group index each. Their codes are
// rearranged as columns of words, as GPTQ stores them, so that one load gets the codes of
// a group for several rows. Codes of other widths than four bits become bytes first.

// decodeIndexed decodes the rows [from, hi) of a weight with a group index for each
// column; the parts begin with row lo.
func (f *Scaled) decodeIndexed(q request, from int64) bool {
	bits := int64(8)
	if f.Codes.bits == 4 && f.Cols%8 == 0 {
		bits = 4
	}
	const tail = 3 // columns after the last word, at most
	words, groups, stride := f.Cols*bits/32, f.Scales.Cols, CeilDiv(f.Cols, 4)+16
	fixed, each := f.Cols+tail, words+5*groups
	if bits != f.Codes.bits {
		fixed, each = fixed+stride, each+stride
	}
	n := min(outputsAtOnce, q.hi-from, (int64(len(q.scratch))-fixed)/each)
	if f.Inverse || f.Op > asm.Shift || f.Codes.unpack == nil || n <= 0 {
		return false
	}
	index, last, rest := asm.Raw32(q.scratch[:f.Cols]), q.scratch[f.Cols:][:tail], q.scratch[f.Cols+tail:]
	for c := range index {
		index[c] = U32(q.parts[len(q.parts)-1][4*c:])
	}
	numbers, rest := rest[:5*n*groups], rest[5*n*groups:]
	stream, rest := asm.Raw(rest[:n*words]), rest[n*words:]
	whole, size := words*32/bits, f.Cols*int64(q.to.Size())
	for at := from; at < q.hi; at += n {
		n := min(n, q.hi-at)
		g := splitGroupNumbers(numbers, n*groups)
		f.groupsOfRows(q, g, at, n)
		codes, apart := q.parts[0][(at-q.lo)*f.Codes.rowBytes:], f.Codes.rowBytes
		if bits != f.Codes.bits {
			codes, apart = f.unpackRows(q.o, asm.Raw(rest), codes, n, 4*stride), 4*stride
		}
		q.o.Transpose(4, stream, codes, int(n), int(words), asm.Strides{To: int(4 * n), From: int(apart)})
		c := asm.Columns{Bits: int(bits), Words: int(words), Count: int(n), Groups: index[:whole], Scales: g.scales, Zeros: g.zeros, Room: g.room}
		out := q.dst[(at-from)*size:][:n*size]
		q.o.Columns(c, q.to, out, stream[:4*n*words], int(size), int(4*n))
		for i := int64(0); i < n && whole < f.Cols; i++ {
			f.slice(last[:f.Cols-whole], q.parts, q.lo, at+i, whole)
			q.o.Put(q.to, out[i*size+whole*int64(q.to.Size()):(i+1)*size], last[:f.Cols-whole])
		}
	}
	return true
}

// cutIndexed decodes some columns, whose codes fill whole words, as a weight of their
// own.
func (f *Scaled) cutIndexed(q request, a area) bool {
	col, n := a.col, a.cols
	if f.Codes.bits == 0 || col%8 != 0 || n%8 != 0 {
		return false
	}
	s, own, last := *f, [5][]byte{}, len(q.parts)-1
	s.Cols = n
	copy(own[:], q.parts)
	own[0], own[last] = q.parts[0][col*f.Codes.bits/8:], q.parts[last][4*col:]
	return s.decodeIndexed(q.withParts(own[:last+1], q.lo, a.row+a.rows), a.row)
}

// unpackRows returns the codes of n rows with a byte each; rows of src begin stride bytes
// apart.
func (f *Scaled) unpackRows(o *asm.Ops, room, src []byte, n, stride int64) []byte {
	more, size := room[n*stride:][:stride], f.Codes.rowBytes
	if f.Codes.bits > 0 { // src may be only some of the columns
		size = CeilDiv(f.Cols*f.Codes.bits, 8)
	}
	for i := range n {
		f.Codes.unpack(o, 0, room[i*stride:][:f.Cols], src[i*f.Codes.rowBytes:][:size], more)
	}
	return room[:n*stride]
}

// groupNumbers are the scales and zero points of groups, and scratch to compute them.
type groupNumbers struct {
	scales, zeros, room []float32
}

// splitGroupNumbers divides p into n scales, n zero points and scratch.
func splitGroupNumbers(p []float32, n int64) groupNumbers {
	return groupNumbers{p[:n], p[n : 2*n], p[2*n:]}
}

// groupsOfRows reads the scales and zero points of n rows from row at on, ordered by
// group.
func (f *Scaled) groupsOfRows(q request, to groupNumbers, at, n int64) {
	groups := f.Scales.Cols
	scales, seconds := to.room[:n*groups], to.room[n*groups:2*n*groups]
	clear(seconds)
	for i := range n {
		f.fill(q.o, rowScales{scales: scales[i*groups:][:groups], seconds: seconds[i*groups:][:groups]}, q.parts, q.lo, at+i, 0)
	}
	for i := range seconds { // both are small integers
		seconds[i] += float32(f.Codes.bias)
	}
	q.o.Transpose(4, asm.Raw(to.scales), asm.Raw(scales), int(n), int(groups), asm.Strides{To: int(4 * n), From: int(4 * groups)})
	q.o.Transpose(4, asm.Raw(to.zeros), asm.Raw(seconds), int(n), int(groups), asm.Strides{To: int(4 * n), From: int(4 * groups)})
}

// decodeIndexed decodes columns of words with a group index for each input.
func (f *PackedIn) decodeIndexed(q request) bool {
	bits, size, each := int64(8), f.In*int64(q.to.Size()), 5*f.Groups
	switch f.Bits {
	case 4:
		bits = 4
	case 8:
	default:
		each += f.streamWords() + 2*f.byteWords()
	}
	n := min(outputsAtOnce, q.hi-q.lo, (int64(len(q.scratch))-f.In)/each)
	if n <= 0 {
		return false
	}
	index := asm.Raw32(q.scratch[:f.In])
	for i := range index {
		g := f.Group(int32(U32(q.parts[inIndex][4*i:])))
		if g < 0 || g >= f.Groups {
			return false
		}
		index[i] = uint32(g)
	}
	numbers, rest := q.scratch[f.In:][:5*n*f.Groups], q.scratch[f.In+5*n*f.Groups:]
	for at := q.lo; at < q.hi; at += n {
		n := min(n, q.hi-at)
		g := splitGroupNumbers(numbers[:5*n*f.Groups], n*f.Groups)
		f.rowsOfNumbers(q, g, at, n)
		words, apart := q.parts[inWeight][4*at:], f.Out
		if bits != f.Bits {
			words, apart = f.byteColumns(q.o, rest, q.parts, at, n), n
		}
		c := asm.Columns{Bits: int(bits), Words: int(f.In * bits / 32), Count: int(n), Groups: index, Scales: g.scales, Zeros: g.zeros, Room: g.room}
		q.o.Columns(c, q.to, q.dst[(at-q.lo)*size:][:n*size], words, int(size), int(4*apart))
	}
	return true
}

// streamWords and byteWords are the distances in scratch between rows of packed codes and
// of one byte per code. They are not powers of two, which would map rows to the same
// cache lines.
func (f *PackedIn) streamWords() int64 { return f.In*f.Bits/32 + 16 }
func (f *PackedIn) byteWords() int64   { return f.In/4 + 16 }

// byteColumns rearranges the codes of n outputs as columns of words of four bytes, one
// code a byte.
func (f *PackedIn) byteColumns(o *asm.Ops, room []float32, parts [][]byte, at, n int64) []byte {
	from, to, words := 4*f.streamWords(), 4*f.byteWords(), f.In*f.Bits/32
	stream, room := asm.Raw(room[:n*from/4]), room[n*from/4:]
	codes, columns := asm.Raw(room[:n*to/4]), asm.Raw(room[n*to/4:])[:n*f.In]
	o.Transpose(4, stream, parts[inWeight][4*at:], int(words), int(n), asm.Strides{To: int(from), From: int(4 * f.Out)})
	for i := range n {
		o.Fields(int(f.Bits), 0, codes[i*to:][:f.In], stream[i*from:][:4*words])
	}
	o.Transpose(4, columns, codes, int(n), int(f.In/4), asm.Strides{To: int(4 * n), From: int(to)})
	return columns
}

// rowsOfNumbers reads the scales and zero points of n outputs, ordered by group.
func (f *PackedIn) rowsOfNumbers(q request, to groupNumbers, at, n int64) {
	scales, zeros, whole := q.parts[inScales], q.parts[inZeros], f.canUnpackZeros(q.o, at, n)
	if whole {
		f.rowsOfZeros(q.o, to.zeros, asm.Raw(to.room), zeros, at, n)
	}
	for g := range f.Groups {
		row := to.scales[g*n:][:n]
		if f.Bulk != nil && q.o.Level() != asm.Generic {
			f.Bulk(q.o, row, scales[(g*f.Out+at)*f.ScaleSize:][:n*f.ScaleSize])
		} else {
			for i := range row {
				row[i] = f.Scale(scales, g*f.Out+at+int64(i))
			}
		}
		for i := int64(0); i < n && !whole; i++ {
			to.zeros[g*n+i] = float32(f.Zero(zeros, g, at+i))
		}
	}
}

// canUnpackZeros reports whether kernels can unpack the zero points of these outputs.
func (f *PackedIn) canUnpackZeros(o *asm.Ops, at, n int64) bool {
	return at*f.Bits%32 == 0 && n*f.Bits%32 == 0 && o.Level() != asm.Generic
}

// rowsOfZeros reads the zero points of outputs whose fields fill whole words, unpacking
// the words of all groups together.
func (f *PackedIn) rowsOfZeros(o *asm.Ops, z []float32, room, p []byte, at, n int64) {
	size := n * f.Bits / 8
	words, codes := room[:f.Groups*size], room[f.Groups*size:][:f.Groups*n]
	for g := range f.Groups {
		copy(words[g*size:][:size], p[(g*f.Out+at)*f.Bits/8:])
	}
	ones := onesPerField[f.Bits]
	for i := 0; i < len(words) && f.OldZeros; i += 4 {
		binary.LittleEndian.PutUint32(words[i:], U32(words[i:])+ones)
	}
	switch {
	case f.Bits == 8:
		codes = words
	case f.OldZeros && ones == 0: // add one and keep the number of bits
		o.Fields(int(f.Bits), 0xFF, codes, words)
		for i := range codes {
			codes[i] &= 1<<f.Bits - 1
		}
	default:
		o.Fields(int(f.Bits), 0, codes, words)
	}
	o.Bytes(asm.Bytes{Op: asm.Shift, Unsigned: true}, asm.F32, asm.Raw(z), codes, asm.Runs{Scales: unitScale[:], Seconds: zeroPoint[:], Length: max(1, len(codes))})
}
