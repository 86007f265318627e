package quant

import "github.com/anamnesis-go/anamnesis/asm"

// The numbers that codes of four bits count.
var counted = [16]float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}

// outputsAtOnce is how many columns of packed words are turned into rows at a
// time: the words of some cache lines.
const outputsAtOnce = 64

// direct turns words of columns into rows, which are then codes in a stream,
// and decodes those group by group.
func (f *gptq) direct(o *asm.Ops, dst []byte, to asm.Type, parts [][]byte, lo, hi int64, scratch []float32) bool {
	if len(parts) > gptqIndex && !f.inOrder(parts[gptqIndex], 0, f.in) {
		return f.outOfOrder(o, dst, to, parts, lo, hi, scratch)
	}
	// Rows are not a power of two apart: they would share their cache lines. Short
	// ones follow each other, and are decoded together.
	words, n := f.in*f.bits/32, min(outputsAtOnce, hi-lo)
	stride, rows := words+16, int64(1)
	if f.in <= shortRow && f.in%f.groupSize == 0 {
		stride, rows = words, n
	}
	byteCodes := ceilDiv(rows*f.in, 4)
	if n*(stride+4*f.groups)+byteCodes > int64(len(scratch)) {
		return false
	}
	stream := asm.Raw(scratch[:n*stride])
	codes, numbers := asm.Raw(scratch[n*stride:])[:rows*f.in], scratch[n*stride+byteCodes:]
	for at := lo; at < hi; at += n {
		n := min(n, hi-at)
		o.Transpose(4, stream, parts[gptqWeight][4*at:], int(words), int(n), int(4*stride), int(4*f.out))
		m := n * f.groups
		s, z := numbers[:m], numbers[m:2*m]
		f.numbers(o, s, z, numbers[2*m:4*m], parts, at, n)
		for i := int64(0); i < n; i += rows {
			k := min(rows, n-i)
			out := dst[(at+i-lo)*f.in*int64(to.Size()):][:k*f.in*int64(to.Size())]
			f.row(o, to, out, stream[4*stride*i:][:4*words*k], codes[:k*f.in], s[i*f.groups:][:k*f.groups], z[i*f.groups:][:k*f.groups])
		}
	}
	return true
}

// shortRow is how many codes of an output are too few for a call of their own.
const shortRow = 512

// row decodes one output, or more whose codes follow each other.
func (f *gptq) row(o *asm.Ops, to asm.Type, dst, stream, codes []byte, s, z []float32) {
	switch {
	case f.bits == 4 && f.groupSize%2 == 0:
		o.Nibbles(asm.Nibbles{Op: asm.Shift, Book: &counted}, to, dst, stream, s, z, int(f.groupSize))
	case f.bits == 8:
		o.Bytes(asm.Bytes{Op: asm.Shift, Unsigned: true}, to, dst, stream, s, z, int(f.groupSize))
	default:
		o.Fields(int(f.bits), 0, codes, stream)
		o.Bytes(asm.Bytes{Op: asm.Shift}, to, dst, codes, s, z, int(f.groupSize))
	}
}

// inOrder reports an index that says of n inputs, from one on, what no index says.
func (f *gptq) inOrder(index []byte, i, n int64) bool {
	for last := i + n; i < last; {
		g := i / f.groupSize
		for end := min((g+1)*f.groupSize, last); i < end; i++ {
			if int64(u32(index[4*i:])) != g {
				return false
			}
		}
	}
	return true
}

// numbers fills in the scales and zero points of the groups of n outputs, those
// of an output together.
func (f *gptq) numbers(o *asm.Ops, s, z, room []float32, parts [][]byte, at, n int64) {
	fillColumns(o, s, z, parts[gptqScales], f.scale, f.bulk, f.scaleSize, f.out, f.groups, at, n)
	if rows := room[:len(z)]; f.wholeWords(o, at, n) {
		f.rowsOfZeros(o, rows, asm.Raw(room[len(z):]), parts[gptqZeros], at, n)
		o.Transpose(4, asm.Raw(z), asm.Raw(rows), int(f.groups), int(n), int(4*f.groups), int(4*n))
		return
	}
	f.zeros(z, parts[gptqZeros], at, n)
}

// zeros fills in the zero points of n outputs, group by group: those of an output
// lie far apart.
func (f *gptq) zeros(dst []float32, p []byte, at, n int64) {
	words, ones, one := 4*f.out*f.bits/32, uint32(0), uint32(0)
	if f.oldZeros {
		ones = onesPerField[f.bits]
		if 32%f.bits != 0 {
			one = 1
		}
	}
	bits, mask := uint64(f.bits), uint32(1)<<f.bits-1
	for g := range f.groups {
		row, to, bit := p[g*words:][:words], g, uint64(at)*bits
		for range n {
			word, shift := row[bit/32*4:], bit%32
			v := uint64(u32(word) + ones)
			if shift+bits > 32 {
				v |= uint64(u32(word[4:])) << 32
			}
			dst[to] = float32((uint32(v>>shift) + one) & mask)
			to, bit = to+f.groups, bit+bits
		}
	}
}

// fillColumns reads n columns of a matrix of scales as rows; room is as large as
// what it fills.
func fillColumns(o *asm.Ops, dst, room []float32, p []byte, read number, many bulk, size, cols, rows, at, n int64) {
	if many != nil && o.Level() != asm.Generic {
		for g := range rows {
			many(o, room[g*n:][:n], p[(g*cols+at)*size:][:n*size])
		}
		o.Transpose(4, asm.Raw(dst[:n*rows]), asm.Raw(room[:n*rows]), int(rows), int(n), int(4*rows), int(4*n))
		return
	}
	for i := range n {
		for g := range rows {
			dst[i*rows+g] = read(p, g*cols+at+i)
		}
	}
}

// direct turns columns of words into rows, parts the four bytes of a word, and
// takes from each byte the nibbles of two outputs.
func (f *awq) direct(o *asm.Ops, dst []byte, to asm.Type, parts [][]byte, lo, hi int64, scratch []float32) bool {
	if f.bits != 4 {
		return f.byBytes(o, dst, to, parts, lo, hi, scratch)
	}
	const atOnce = 8 // columns of words
	first, end, size := lo/8, ceilDiv(hi, 8), int64(to.Size())
	n, stride := min(atOnce, end-first), f.in+16
	// Of few columns those beside them are turned too: less is no square of the kernel.
	wide, need := min(atOnce, f.out/8-first), f.in+(8+16*n)*f.groups
	if wide*stride+need > int64(len(scratch)) {
		wide = n
	}
	if wide*stride+need > int64(len(scratch)) {
		return false
	}
	rest := scratch[wide*stride:]
	lanes, zeros, rest := asm.Raw(rest[:f.in]), rest[f.in:][:8*f.groups], rest[f.in+8*f.groups:]
	for at := first; at < end; at += n {
		n, wide := min(n, end-at), min(wide, f.out/8-at)
		stream, s := asm.Raw(scratch[:wide*stride]), rest[:8*n*f.groups]
		o.Transpose(4, stream, parts[0][4*at:], int(f.in), int(wide), int(4*stride), int(f.out/2))
		fillColumns(o, s, rest[8*n*f.groups:][:8*n*f.groups], parts[1], f.scale, f.bulk, f.scaleSize, f.out, f.groups, 8*at, 8*n)
		for i := range n {
			o.Lanes(lanes, stream[4*stride*i:][:4*f.in], int(f.in))
			f.zeros(zeros, parts[2], at+i)
			for j, nibble := range awqNibble {
				out := 8*(at+i) + int64(j)
				if out < lo || out >= hi {
					continue
				}
				o.HalfBytes(asm.HalfBytes{From: uint8(nibble % 2 * 4), Book: &counted}, to, dst[(out-lo)*f.in*size:][:f.in*size],
					lanes[int64(nibble/2)*f.in:][:f.in], s[(8*i+int64(j))*f.groups:][:f.groups], zeros[int64(nibble)*f.groups:][:f.groups], int(f.groupSize))
			}
		}
	}
	return true
}

// zeros fills in the zero points of the eight outputs of a column of words, those
// of a nibble together.
func (f *awq) zeros(dst []float32, p []byte, column int64) {
	for g := range f.groups {
		word := u32(p[4*(g*f.out/8+column):])
		for k := range int64(8) {
			dst[k*f.groups+g] = float32(word >> (4 * k) & 15)
		}
	}
}

// byBytes turns columns of bytes into rows. Narrower codes become bytes first,
// some outputs of all inputs together: eight of them begin and end with a byte.
func (f *awq) byBytes(o *asm.Ops, dst []byte, to asm.Type, parts [][]byte, lo, hi int64, scratch []float32) bool {
	stride, size, unit := f.in+64, f.in*int64(to.Size()), int64(1)
	each := stride + 8*f.groups // bytes of scratch for an output
	if f.bits < 8 {
		unit, each = 8, each+2*f.in
	}
	first, end := lo/unit*unit, ceilDiv(hi, unit)*unit
	n := min(outputsAtOnce, end-first, (4*int64(len(scratch))-4*f.groups)/each) / unit * unit
	if n == 0 {
		return false
	}
	z, s, room := scratch[:f.groups], scratch[f.groups:][:n*f.groups], scratch[(1+n)*f.groups:][:n*f.groups]
	rest := asm.Raw(scratch[(1+2*n)*f.groups:])
	turned, rest := rest[:n*stride], rest[n*stride:]
	for at := first; at < end; at += n {
		n := min(n, end-at)
		codes, apart := parts[0][at*f.bits/8:], f.out
		if f.bits < 8 {
			codes, apart = f.unpack(o, rest, codes, n), n
		}
		o.Transpose(1, turned, codes, int(f.in), int(n), int(stride), int(apart))
		fillColumns(o, s[:n*f.groups], room[:n*f.groups], parts[1], f.scale, f.bulk, f.scaleSize, f.out, f.groups, at, n)
		for out := max(lo, at); out < min(hi, at+n); out++ {
			for g := range z {
				z[g] = float32(f.field(parts[2], int64(g), out))
			}
			i := out - at
			o.Bytes(asm.Bytes{Op: asm.Shift, Unsigned: true}, to, dst[(out-lo)*size:][:size], turned[i*stride:][:f.in], s[i*f.groups:][:f.groups], z, int(f.groupSize))
		}
	}
	return true
}

// unpack gives the codes of n outputs of each input a byte.
func (f *awq) unpack(o *asm.Ops, room, src []byte, n int64) []byte {
	codes, packed, size := room[:f.in*n], room[f.in*n:][:f.in*n*f.bits/8], n*f.bits/8
	for i := range f.in {
		copy(packed[i*size:][:size], src[i*f.out*f.bits/8:])
	}
	o.Fields(int(f.bits), 0, codes, packed)
	return codes
}

// underTernary is codes of two bits at one place of each byte, less one, all
// under one scale.
func underTernary(o *asm.Ops, to asm.Type, dst, row []byte, from uint8, u under) bool {
	book, s := new([16]float32), u.scales[0]
	for i := range book {
		if v := float32(i&3 - 1); u.divides {
			book[i] = v / s
		} else {
			book[i] = v * s
		}
	}
	// The products as they are: less zero, times one.
	zero, one := [1]float32{}, [1]float32{1}
	o.HalfBytes(asm.HalfBytes{From: from, Book: book}, to, dst, row, one[:], zero[:], max(1, len(row)))
	return true
}
