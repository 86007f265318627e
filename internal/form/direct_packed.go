package form

import "github.com/anamnesis-go/anamnesis/asm"

// nibbleValues are the values of unsigned 4-bit codes.
var nibbleValues = [16]float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}

// outputsAtOnce is how many columns of packed words are transposed into rows at a time:
// the words of some cache lines.
const outputsAtOnce = 64

// direct transposes columns of words into rows, which are then streams of codes, and
// decodes them group by group.
func (f *PackedIn) direct(q request) bool {
	if len(q.parts) > inIndex && !f.inOrder(q.parts[inIndex], 0, f.In) {
		return f.decodeIndexed(q)
	}
	// The distance of rows must not be a power of two, which would map them to the same
	// cache lines. Short rows are adjacent, and decoded together.
	words, n := f.In*f.Bits/32, min(outputsAtOnce, q.hi-q.lo)
	stride, rows := words+16, int64(1)
	if f.In <= shortRow && f.In%f.GroupSize == 0 {
		stride, rows = words, n
	}
	byteCodes := CeilDiv(rows*f.In, 4)
	if n*(stride+4*f.Groups)+byteCodes > int64(len(q.scratch)) {
		return false
	}
	stream := asm.Raw(q.scratch[:n*stride])
	codes, numbers := asm.Raw(q.scratch[n*stride:])[:rows*f.In], q.scratch[n*stride+byteCodes:]
	for at := q.lo; at < q.hi; at += n {
		n := min(n, q.hi-at)
		q.o.Transpose(4, stream, q.parts[inWeight][4*at:], int(words), int(n), asm.Strides{To: int(4 * stride), From: int(4 * f.Out)})
		g := splitGroupNumbers(numbers[:4*n*f.Groups], n*f.Groups)
		f.numbers(q, g, at, n)
		for i := int64(0); i < n; i += rows {
			k := min(rows, n-i)
			out := q.dst[(at+i-q.lo)*f.In*int64(q.to.Size()):][:k*f.In*int64(q.to.Size())]
			f.row(q.into(out), stream[4*stride*i:][:4*words*k], codes[:k*f.In], g.scales[i*f.Groups:][:k*f.Groups], g.zeros[i*f.Groups:][:k*f.Groups])
		}
	}
	return true
}

// shortRow is the number of codes of an output below which outputs are decoded together.
const shortRow = 512

// row decodes one output, or several whose codes are adjacent.
func (f *PackedIn) row(q request, stream, codes []byte, s, z []float32) {
	switch {
	case f.Bits == 4 && f.GroupSize%2 == 0:
		q.o.Nibbles(asm.Nibbles{Op: asm.Shift, Codebook: &nibbleValues}, q.to, q.dst, stream, asm.Runs{Scales: s, Seconds: z, Length: int(f.GroupSize)})
	case f.Bits == 8:
		q.o.Bytes(asm.Bytes{Op: asm.Shift, Unsigned: true}, q.to, q.dst, stream, asm.Runs{Scales: s, Seconds: z, Length: int(f.GroupSize)})
	default:
		q.o.Fields(int(f.Bits), 0, codes, stream)
		q.o.Bytes(asm.Bytes{Op: asm.Shift}, q.to, q.dst, codes, asm.Runs{Scales: s, Seconds: z, Length: int(f.GroupSize)})
	}
}

// inOrder reports whether the index of the n inputs from i on is the same as without an
// index.
func (f *PackedIn) inOrder(index []byte, i, n int64) bool {
	for last := i + n; i < last; {
		g := i / f.GroupSize
		for end := min((g+1)*f.GroupSize, last); i < end; i++ {
			if int64(U32(index[4*i:])) != g {
				return false
			}
		}
	}
	return true
}

// numbers reads the scales and zero points of n outputs, ordered by output.
func (f *PackedIn) numbers(q request, to groupNumbers, at, n int64) {
	zeros, m := to.zeros, len(to.zeros)
	f.scaleMatrix().columns(q.o, to.scales, zeros, q.parts[inScales], at, n)
	if rows := to.room[:m]; f.canUnpackZeros(q.o, at, n) {
		f.rowsOfZeros(q.o, rows, asm.Raw(to.room[m:]), q.parts[inZeros], at, n)
		q.o.Transpose(4, asm.Raw(zeros), asm.Raw(rows), int(f.Groups), int(n), asm.Strides{To: int(4 * f.Groups), From: int(4 * n)})
		return
	}
	f.zeros(zeros, q.parts[inZeros], at, n)
}

// zeros reads the zero points of n outputs, group by group, since those of an output are
// far apart.
func (f *PackedIn) zeros(dst []float32, p []byte, at, n int64) {
	words, ones, one := 4*f.Out*f.Bits/32, uint32(0), uint32(0)
	if f.OldZeros {
		ones = onesPerField[f.Bits]
		if 32%f.Bits != 0 {
			one = 1
		}
	}
	bits, mask := uint64(f.Bits), uint32(1)<<f.Bits-1
	for g := range f.Groups {
		row, to, bit := p[g*words:][:words], g, uint64(at)*bits
		for range n {
			word, shift := row[bit/32*4:], bit%32
			v := uint64(U32(word) + ones)
			if shift+bits > 32 {
				v |= uint64(U32(word[4:])) << 32
			}
			dst[to] = float32((uint32(v>>shift) + one) & mask)
			to, bit = to+f.Groups, bit+bits
		}
	}
}

// A groupMatrix is a matrix of scales with a row for each group.
type groupMatrix struct {
	read Number
	many bulk // may be nil
	size int64
	cols int64
	rows int64
}

func (f *PackedIn) scaleMatrix() groupMatrix {
	return groupMatrix{f.Scale, f.Bulk, f.ScaleSize, f.Out, f.Groups}
}

func (f *PackedOut) scaleMatrix() groupMatrix {
	return groupMatrix{f.Scale, f.Bulk, f.ScaleSize, f.Out, f.Groups}
}

// columns reads n columns from column at on and transposes them; room is as large as dst.
func (m groupMatrix) columns(o *asm.Ops, dst, room []float32, p []byte, at, n int64) {
	if m.many != nil && o.Level() != asm.Generic {
		for g := range m.rows {
			m.many(o, room[g*n:][:n], p[(g*m.cols+at)*m.size:][:n*m.size])
		}
		o.Transpose(4, asm.Raw(dst[:n*m.rows]), asm.Raw(room[:n*m.rows]), int(m.rows), int(n), asm.Strides{To: int(4 * m.rows), From: int(4 * n)})
		return
	}
	for i := range n {
		for g := range m.rows {
			dst[i*m.rows+g] = m.read(p, g*m.cols+at+i)
		}
	}
}

// direct transposes columns of words into rows, separates the four bytes of the words,
// and decodes from each byte the nibbles of two outputs.
func (f *PackedOut) direct(q request) bool {
	if f.Bits != 4 {
		return f.directBytes(q)
	}
	const atOnce = 8 // columns of words
	first, end, size := q.lo/8, CeilDiv(q.hi, 8), int64(q.to.Size())
	n, stride := min(atOnce, end-first), f.In+16
	// The kernel transposes squares, so a few columns more than needed are transposed.
	wide, need := min(atOnce, f.Out/8-first), f.In+(8+16*n)*f.Groups
	if wide*stride+need > int64(len(q.scratch)) {
		wide = n
	}
	if wide*stride+need > int64(len(q.scratch)) {
		return false
	}
	rest := q.scratch[wide*stride:]
	lanes, zeros, rest := asm.Raw(rest[:f.In]), rest[f.In:][:8*f.Groups], rest[f.In+8*f.Groups:]
	for at := first; at < end; at += n {
		n, wide := min(n, end-at), min(wide, f.Out/8-at)
		stream, s := asm.Raw(q.scratch[:wide*stride]), rest[:8*n*f.Groups]
		q.o.Transpose(4, stream, q.parts[0][4*at:], int(f.In), int(wide), asm.Strides{To: int(4 * stride), From: int(f.Out / 2)})
		f.scaleMatrix().columns(q.o, s, rest[8*n*f.Groups:][:8*n*f.Groups], q.parts[1], 8*at, 8*n)
		for i := range n {
			q.o.Lanes(lanes, stream[4*stride*i:][:4*f.In], int(f.In))
			f.zeros(zeros, q.parts[2], at+i)
			for j, nibble := range outNibble {
				out := 8*(at+i) + int64(j)
				if out < q.lo || out >= q.hi {
					continue
				}
				q.o.HalfBytes(asm.HalfBytes{From: uint8(nibble % 2 * 4), Codebook: &nibbleValues}, q.to, q.dst[(out-q.lo)*f.In*size:][:f.In*size],
					lanes[int64(nibble/2)*f.In:][:f.In], asm.Runs{Scales: s[(8*i+int64(j))*f.Groups:][:f.Groups], Seconds: zeros[int64(nibble)*f.Groups:][:f.Groups], Length: int(f.GroupSize)})
			}
		}
	}
	return true
}

// zeros reads the zero points of the eight outputs of a column of words, ordered by
// nibble.
func (f *PackedOut) zeros(dst []float32, p []byte, column int64) {
	for g := range f.Groups {
		word := U32(p[4*(g*f.Out/8+column):])
		for k := range int64(8) {
			dst[k*f.Groups+g] = float32(word >> (4 * k) & 15)
		}
	}
}

// directBytes transposes columns of bytes into rows. Narrower codes become bytes first,
// for eight outputs or a multiple at a time, which fill whole bytes.
func (f *PackedOut) directBytes(q request) bool {
	stride, size, unit := f.In+64, f.In*int64(q.to.Size()), int64(1)
	each := stride + 8*f.Groups // bytes of scratch for an output
	if f.Bits < 8 {
		unit, each = 8, each+2*f.In
	}
	first, end := q.lo/unit*unit, CeilDiv(q.hi, unit)*unit
	n := min(outputsAtOnce, end-first, (4*int64(len(q.scratch))-4*f.Groups)/each) / unit * unit
	if n == 0 {
		return false
	}
	z, s, room := q.scratch[:f.Groups], q.scratch[f.Groups:][:n*f.Groups], q.scratch[(1+n)*f.Groups:][:n*f.Groups]
	rest := asm.Raw(q.scratch[(1+2*n)*f.Groups:])
	transposed, rest := rest[:n*stride], rest[n*stride:]
	for at := first; at < end; at += n {
		n := min(n, end-at)
		codes, apart := q.parts[0][at*f.Bits/8:], f.Out
		if f.Bits < 8 {
			codes, apart = f.unpack(q.o, rest, codes, n), n
		}
		q.o.Transpose(1, transposed, codes, int(f.In), int(n), asm.Strides{To: int(stride), From: int(apart)})
		f.scaleMatrix().columns(q.o, s[:n*f.Groups], room[:n*f.Groups], q.parts[1], at, n)
		for out := max(q.lo, at); out < min(q.hi, at+n); out++ {
			for g := range z {
				z[g] = float32(f.field(q.parts[2], int64(g), out))
			}
			i := out - at
			q.o.Bytes(asm.Bytes{Op: asm.Shift, Unsigned: true}, q.to, q.dst[(out-q.lo)*size:][:size], transposed[i*stride:][:f.In], asm.Runs{Scales: s[i*f.Groups:][:f.Groups], Seconds: z, Length: int(f.GroupSize)})
		}
	}
	return true
}

// unpack returns the codes of n outputs of each input with a byte each.
func (f *PackedOut) unpack(o *asm.Ops, room, src []byte, n int64) []byte {
	codes, packed, size := room[:f.In*n], room[f.In*n:][:f.In*n*f.Bits/8], n*f.Bits/8
	for i := range f.In {
		copy(packed[i*size:][:size], src[i*f.Out*f.Bits/8:])
	}
	o.Fields(int(f.Bits), 0, codes, packed)
	return codes
}

// scaledTernary decodes 2-bit codes at the same position in every byte, minus one, under
// one scale.
func scaledTernary(o *asm.Ops, to asm.Type, dst, row []byte, from uint8, u rowScales) bool {
	codebook, s := new([16]float32), u.scales[0]
	for i := range codebook {
		if v := float32(i&3 - 1); u.divides {
			codebook[i] = v / s
		} else {
			codebook[i] = v * s
		}
	}
	// A zero point of 0 and a scale of 1 leave the products as they are.
	zero, one := [1]float32{}, [1]float32{1}
	o.HalfBytes(asm.HalfBytes{From: from, Codebook: codebook}, to, dst, row, asm.Runs{Scales: one[:], Seconds: zero[:], Length: max(1, len(row))})
	return true
}
