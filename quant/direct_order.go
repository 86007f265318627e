package quant

import (
	"encoding/binary"

	"github.com/anamnesis-go/anamnesis/asm"
)

// Columns that were quantized out of order say their group each. Their codes
// become columns of words, as GPTQ stores them, so that one load brings the numbers
// of a group for several rows; those of any other width than four bits become
// bytes first.

// indexed is a group for each column. It decodes the rows [from, hi) by what the
// rows from lo need.
func (f *scaled) indexed(q request, from int64) bool {
	bits := int64(8)
	if f.codes.bits == 4 && f.cols%8 == 0 {
		bits = 4
	}
	const tail = 3 // columns behind the last word, at most
	words, groups, stride := f.cols*bits/32, f.scales.cols, ceilDiv(f.cols, 4)+16
	fixed, each := f.cols+tail, words+5*groups
	if bits != f.codes.bits {
		fixed, each = fixed+stride, each+stride
	}
	n := min(outputsAtOnce, q.hi-from, (int64(len(q.scratch))-fixed)/each)
	if f.op > opShift || f.codes.unpack == nil || n <= 0 {
		return false
	}
	index, last, rest := asm.Raw32(q.scratch[:f.cols]), q.scratch[f.cols:][:tail], q.scratch[f.cols+tail:]
	for c := range index {
		index[c] = u32(q.parts[len(q.parts)-1][4*c:])
	}
	numbers, rest := rest[:5*n*groups], rest[5*n*groups:]
	stream, rest := asm.Raw(rest[:n*words]), rest[n*words:]
	whole, size := words*32/bits, f.cols*int64(q.to.Size())
	for at := from; at < q.hi; at += n {
		n := min(n, q.hi-at)
		m := n * groups
		s, z, room := numbers[:m], numbers[m:2*m], numbers[2*m:5*m]
		f.groupsOfRows(q.o, s, z, room, q.parts, q.lo, at, n)
		codes, apart := q.parts[0][(at-q.lo)*f.codes.rowBytes:], f.codes.rowBytes
		if bits != f.codes.bits {
			codes, apart = f.unpackRows(q.o, asm.Raw(rest), codes, n, 4*stride), 4*stride
		}
		q.o.Transpose(4, stream, codes, int(n), int(words), int(4*n), int(apart))
		c := asm.Columns{Bits: int(bits), Words: int(words), Count: int(n), Groups: index[:whole], Scales: s, Zeros: z, Room: room}
		out := q.dst[(at-from)*size:][:n*size]
		q.o.Columns(c, q.to, out, stream[:4*n*words], int(size), int(4*n))
		for i := int64(0); i < n && whole < f.cols; i++ {
			f.slice(last[:f.cols-whole], q.parts, q.lo, at+i, whole)
			q.o.Put(q.to, out[i*size+whole*int64(q.to.Size()):(i+1)*size], last[:f.cols-whole])
		}
	}
	return true
}

// cutIndexed takes some columns, whole words of codes of any width, as a weight of
// their own.
func (f *scaled) cutIndexed(q request, r, rows, col, n int64) bool {
	if f.codes.bits == 0 || col%8 != 0 || n%8 != 0 {
		return false
	}
	s, own, last := *f, [5][]byte{}, len(q.parts)-1
	s.cols = n
	copy(own[:], q.parts)
	own[0], own[last] = q.parts[0][col*f.codes.bits/8:], q.parts[last][4*col:]
	return s.indexed(q.of(own[:last+1], q.lo, r+rows), r)
}

// unpackRows gives the codes of n rows a byte each; rows begin stride bytes apart.
func (f *scaled) unpackRows(o *asm.Ops, room, src []byte, n, stride int64) []byte {
	more, size := room[n*stride:][:stride], f.codes.rowBytes
	if f.codes.bits > 0 { // these may be some columns
		size = ceilDiv(f.cols*f.codes.bits, 8)
	}
	for i := range n {
		f.codes.unpack(o, 0, room[i*stride:][:f.cols], src[i*f.codes.rowBytes:][:size], more)
	}
	return room[:n*stride]
}

// groupsOfRows fills in the numbers of n rows, those of a group together.
func (f *scaled) groupsOfRows(o *asm.Ops, s, z, room []float32, parts [][]byte, lo, at, n int64) {
	groups := f.scales.cols
	scales, seconds := room[:n*groups], room[n*groups:2*n*groups]
	clear(seconds)
	for i := range n {
		f.fill(o, under{scales: scales[i*groups:][:groups], seconds: seconds[i*groups:][:groups]}, parts, lo, at+i, 0)
	}
	for i := range seconds { // both are small whole numbers
		seconds[i] += float32(f.codes.bias)
	}
	o.Transpose(4, asm.Raw(s), asm.Raw(scales), int(n), int(groups), int(4*n), int(4*groups))
	o.Transpose(4, asm.Raw(z), asm.Raw(seconds), int(n), int(groups), int(4*n), int(4*groups))
}

// outOfOrder decodes columns of words by the group of each input.
func (f *gptq) outOfOrder(q request) bool {
	bits, size, each := int64(8), f.in*int64(q.to.Size()), 5*f.groups
	switch f.bits {
	case 4:
		bits = 4
	case 8:
	default:
		each += f.streamWords() + 2*f.byteWords()
	}
	n := min(outputsAtOnce, q.hi-q.lo, (int64(len(q.scratch))-f.in)/each)
	if n <= 0 {
		return false
	}
	index := asm.Raw32(q.scratch[:f.in])
	for i := range index {
		g := f.group(int32(u32(q.parts[gptqIndex][4*i:])))
		if g < 0 || g >= f.groups {
			return false
		}
		index[i] = uint32(g)
	}
	numbers, rest := q.scratch[f.in:][:5*n*f.groups], q.scratch[f.in+5*n*f.groups:]
	for at := q.lo; at < q.hi; at += n {
		n := min(n, q.hi-at)
		m := n * f.groups
		s, z, room := numbers[:m], numbers[m:2*m], numbers[2*m:5*m]
		f.rowsOfNumbers(q.o, s, z, asm.Raw(room), q.parts, at, n)
		words, apart := q.parts[gptqWeight][4*at:], f.out
		if bits != f.bits {
			words, apart = f.byteColumns(q.o, rest, q.parts, at, n), n
		}
		c := asm.Columns{Bits: int(bits), Words: int(f.in * bits / 32), Count: int(n), Groups: index, Scales: s, Zeros: z, Room: room}
		q.o.Columns(c, q.to, q.dst[(at-q.lo)*size:][:n*size], words, int(size), int(4*apart))
	}
	return true
}

// streamWords and byteWords are how far rows of codes as they are, and of a byte
// each, lie apart in scratch: not a power of two, or they would share their cache
// lines.
func (f *gptq) streamWords() int64 { return f.in*f.bits/32 + 16 }
func (f *gptq) byteWords() int64   { return f.in/4 + 16 }

// byteColumns makes columns of words of four bytes, a code each, of those of n
// outputs.
func (f *gptq) byteColumns(o *asm.Ops, room []float32, parts [][]byte, at, n int64) []byte {
	from, to, words := 4*f.streamWords(), 4*f.byteWords(), f.in*f.bits/32
	stream, room := asm.Raw(room[:n*from/4]), room[n*from/4:]
	codes, columns := asm.Raw(room[:n*to/4]), asm.Raw(room[n*to/4:])[:n*f.in]
	o.Transpose(4, stream, parts[gptqWeight][4*at:], int(words), int(n), int(from), int(4*f.out))
	for i := range n {
		o.Fields(int(f.bits), 0, codes[i*to:][:f.in], stream[i*from:][:4*words])
	}
	o.Transpose(4, columns, codes, int(n), int(f.in/4), int(4*n), int(to))
	return columns
}

// rowsOfNumbers fills in the scales and zero points of n outputs, those of a
// group together.
func (f *gptq) rowsOfNumbers(o *asm.Ops, s, z []float32, room []byte, parts [][]byte, at, n int64) {
	whole := f.wholeWords(o, at, n)
	if whole {
		f.rowsOfZeros(o, z, room, parts[gptqZeros], at, n)
	}
	for g := range f.groups {
		row := s[g*n:][:n]
		if f.bulk != nil && o.Level() != asm.Generic {
			f.bulk(o, row, parts[gptqScales][(g*f.out+at)*f.scaleSize:][:n*f.scaleSize])
		} else {
			for i := range row {
				row[i] = f.scale(parts[gptqScales], g*f.out+at+int64(i))
			}
		}
		for i := int64(0); i < n && !whole; i++ {
			z[g*n+i] = float32(f.zero(parts[gptqZeros], g, at+i))
		}
	}
}

// wholeWords reports outputs whose zero points kernels can unpack.
func (f *gptq) wholeWords(o *asm.Ops, at, n int64) bool {
	return at*f.bits%32 == 0 && n*f.bits%32 == 0 && o.Level() != asm.Generic
}

// rowsOfZeros is the zero points of outputs whose fields are whole words: the words
// of all groups are unpacked together.
func (f *gptq) rowsOfZeros(o *asm.Ops, z []float32, room, p []byte, at, n int64) {
	size := n * f.bits / 8
	words, codes := room[:f.groups*size], room[f.groups*size:][:f.groups*n]
	for g := range f.groups {
		copy(words[g*size:][:size], p[(g*f.out+at)*f.bits/8:])
	}
	ones := onesPerField[f.bits]
	for i := 0; i < len(words) && f.oldZeros; i += 4 {
		binary.LittleEndian.PutUint32(words[i:], u32(words[i:])+ones)
	}
	switch {
	case f.bits == 8:
		codes = words
	case f.oldZeros && ones == 0: // one more, and then as many bits as before
		o.Fields(int(f.bits), 0xFF, codes, words)
		for i := range codes {
			codes[i] &= 1<<f.bits - 1
		}
	default:
		o.Fields(int(f.bits), 0, codes, words)
	}
	o.Bytes(asm.Bytes{Op: asm.Shift, Unsigned: true}, asm.F32, asm.Raw(z), codes, unscaled[:], nothing[:], max(1, len(codes)))
}
