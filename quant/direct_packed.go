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
	if f.groupSize%2 != 0 || f.in*f.bits%32 != 0 {
		return false
	}
	if len(parts) > gptqIndex && !f.inOrder(parts[gptqIndex]) {
		return f.outOfOrder(o, dst, to, parts, lo, hi, scratch)
	}
	// Rows are not a power of two apart: they would share their cache lines.
	words, n := f.in*f.bits/32, min(outputsAtOnce, hi-lo)
	stride, byteCodes := words+16, ceilDiv(f.in, 4)
	if n*(stride+2*f.groups)+byteCodes > int64(len(scratch)) {
		return false
	}
	stream := asm.Raw(scratch[:n*stride])
	codes, numbers := asm.Raw(scratch[n*stride:])[:f.in], scratch[n*stride+byteCodes:]
	for at := lo; at < hi; at += n {
		n := min(n, hi-at)
		o.Transpose(4, stream, parts[gptqWeight][4*at:], int(words), int(n), int(4*stride), int(4*f.out))
		s, z := numbers[:n*f.groups], numbers[n*f.groups:2*n*f.groups]
		f.numbers(o, s, z, parts, at, n)
		for i := range n {
			row := dst[(at+i-lo)*f.in*int64(to.Size()):][:f.in*int64(to.Size())]
			f.row(o, to, row, stream[4*stride*i:][:4*words], codes, s[i*f.groups:][:f.groups], z[i*f.groups:][:f.groups])
		}
	}
	return true
}

// row decodes one output.
func (f *gptq) row(o *asm.Ops, to asm.Type, dst, stream, codes []byte, s, z []float32) {
	switch f.bits {
	case 4:
		o.Nibbles(asm.Nibbles{Op: asm.Shift, Book: &counted}, to, dst, stream, s, z, int(f.groupSize))
	case 8:
		o.Bytes(asm.Bytes{Op: asm.Shift, Unsigned: true}, to, dst, stream, s, z, int(f.groupSize))
	default:
		o.Fields(int(f.bits), 0, codes, stream)
		o.Bytes(asm.Bytes{Op: asm.Shift}, to, dst, codes, s, z, int(f.groupSize))
	}
}

// inOrder reports an index that says what no index says.
func (f *gptq) inOrder(index []byte) bool {
	i := int64(0)
	for g := int64(0); i < f.in; g++ {
		for end := min(i+f.groupSize, f.in); i < end; i++ {
			if int64(u32(index[4*i:])) != g {
				return false
			}
		}
	}
	return true
}

// numbers fills in the scales and zero points of the groups of n outputs, those
// of an output together.
func (f *gptq) numbers(o *asm.Ops, s, z []float32, parts [][]byte, at, n int64) {
	fillColumns(o, s, z, parts[gptqScales], f.scale, f.bulk, f.scaleSize, f.out, f.groups, at, n)
	words, ones, whole := f.out*f.bits/32, uint32(0), 32%f.bits == 0
	if f.oldZeros {
		ones = onesPerField[f.bits]
	}
	for i := range n {
		row := z[i*f.groups:][:f.groups]
		if !whole {
			for g := range row {
				row[g] = float32(f.zero(parts[gptqZeros], int64(g), at+i))
			}
			continue
		}
		shift, word := uint((at+i)*f.bits%32), parts[gptqZeros][4*((at+i)*f.bits/32):]
		for g := range row {
			row[g] = float32((u32(word[4*int64(g)*words:]) + ones) >> shift & (1<<f.bits - 1))
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

// outOfOrder decodes columns of words by the group of each input.
func (f *gptq) outOfOrder(o *asm.Ops, dst []byte, to asm.Type, parts [][]byte, lo, hi int64, scratch []float32) bool {
	size, n := int64(to.Size()), min(outputsAtOnce, hi-lo)
	if f.bits != 4 {
		return f.byGather(o, dst, to, parts, lo, hi, scratch)
	}
	if f.in+4*n*f.groups > int64(len(scratch)) {
		return f.byTable(o, dst, to, parts, lo, hi, scratch)
	}
	index := asm.Raw32(scratch[:f.in])
	for i := range index {
		g := f.group(int32(u32(parts[gptqIndex][4*i:])))
		if g < 0 || g >= f.groups {
			return false
		}
		index[i] = uint32(g)
	}
	for at := lo; at < hi; at += n {
		n := min(n, hi-at)
		m := n * f.groups
		s, z, room := scratch[f.in:][:m], scratch[f.in+m:][:m], scratch[f.in+2*m:][:2*m]
		f.rowsOfNumbers(o, s, z, parts, at, n)
		c := asm.Columns{Words: int(f.in / 8), Count: int(n), Groups: index, Scales: s, Zeros: z, Room: room}
		o.Columns(c, to, dst[(at-lo)*f.in*size:][:n*f.in*size], parts[gptqWeight][4*at:], int(f.in*size), int(4*f.out))
	}
	return true
}

// rowsOfNumbers fills in the scales and zero points of n outputs, those of a
// group together.
func (f *gptq) rowsOfNumbers(o *asm.Ops, s, z []float32, parts [][]byte, at, n int64) {
	words, ones := f.out*f.bits/32, uint32(0)
	if f.oldZeros {
		ones = onesPerField[f.bits]
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
		for i := range n {
			bit := (at + i) * f.bits
			z[g*n+i] = float32((u32(parts[gptqZeros][4*(g*words+bit/32):]) + ones) >> (bit % 32) & (1<<f.bits - 1))
		}
	}
}

// byTable looks the codes of each output up in a table of all its groups.
func (f *gptq) byTable(o *asm.Ops, dst []byte, to asm.Type, parts [][]byte, lo, hi int64, scratch []float32) bool {
	words, size := f.in/8, int64(to.Size())
	n := min(8, hi-lo)
	tableWords, rest := ceilDiv(f.groups*16*size, 4), n*words
	need := rest + ceilDiv(f.in, 2) + ceilDiv(f.in, 4) + tableWords + 18*f.groups
	if f.groups > 4095 || need > int64(len(scratch)) {
		return false
	}
	cut := func(words int64) (piece []float32) {
		piece, rest = scratch[rest:rest+words], rest+words
		return piece
	}
	groups, codes := asm.Raw16(cut(ceilDiv(f.in, 2)))[:f.in], asm.Raw(cut(ceilDiv(f.in, 4)))[:f.in]
	table, s, z := asm.Raw(cut(tableWords))[:f.groups*16*size], cut(f.groups), cut(f.groups)
	products := cut(16 * f.groups)
	for i := range groups {
		g := f.group(int32(u32(parts[gptqIndex][4*i:])))
		if g < 0 || g >= f.groups {
			return false
		}
		groups[i] = uint16(16 * g)
	}
	for at := lo; at < hi; at += n {
		n := min(n, hi-at)
		stream := asm.Raw(scratch[:n*words])
		o.Transpose(4, stream, parts[gptqWeight][4*at:], int(words), int(n), int(4*words), int(4*f.out))
		for i := range n {
			f.numbers(o, s, z, parts, at+i, 1)
			for g := range s {
				for q, c := range counted {
					products[16*g+q] = float32(c-z[g]) * s[g]
				}
			}
			o.Put(to, table, products)
			o.Spread(codes, stream[4*words*i:][:4*words])
			o.Gather(to, dst[(at+i-lo)*f.in*size:][:f.in*size], codes, groups, table)
		}
	}
	return true
}

// direct turns columns of words into rows, parts the four bytes of a word, and
// takes from each byte the nibbles of two outputs.
func (f *awq) direct(o *asm.Ops, dst []byte, to asm.Type, parts [][]byte, lo, hi int64, scratch []float32) bool {
	if f.bits == 8 {
		return f.byBytes(o, dst, to, parts, lo, hi, scratch)
	}
	const atOnce = 8 // columns of words
	first, end, size := lo/8, ceilDiv(hi, 8), int64(to.Size())
	n, stride := min(atOnce, end-first), f.in+16
	if f.bits != 4 || f.out%8 != 0 || n*stride+f.in+9*f.groups+8*f.groups > int64(len(scratch)) {
		return false
	}
	rest := scratch[n*stride:]
	lanes, z, s, room := asm.Raw(rest[:f.in]), rest[f.in:][:f.groups], rest[f.in+f.groups:][:8*f.groups], rest[f.in+9*f.groups:][:8*f.groups]
	for at := first; at < end; at += n {
		n := min(n, end-at)
		stream := asm.Raw(scratch[:n*stride])
		o.Transpose(4, stream, parts[0][4*at:], int(f.in), int(n), int(4*stride), int(f.out/2))
		for i := range n {
			o.Lanes(lanes, stream[4*stride*i:][:4*f.in], int(f.in))
			fillColumns(o, s, room, parts[1], f.scale, f.bulk, f.scaleSize, f.out, f.groups, 8*(at+i), 8)
			for j, nibble := range awqNibble {
				out := 8*(at+i) + int64(j)
				if out < lo || out >= hi {
					continue
				}
				for g := range z {
					z[g] = float32(u32(parts[2][4*(int64(g)*f.out/8+at+i):]) >> (4 * nibble) & 15)
				}
				o.HalfBytes(asm.HalfBytes{From: uint8(nibble % 2 * 4), Book: &counted}, to, dst[(out-lo)*f.in*size:][:f.in*size],
					lanes[int64(nibble/2)*f.in:][:f.in], s[int64(j)*f.groups:][:f.groups], z, int(f.groupSize))
			}
		}
	}
	return true
}

// byBytes turns columns of bytes into rows.
func (f *awq) byBytes(o *asm.Ops, dst []byte, to asm.Type, parts [][]byte, lo, hi int64, scratch []float32) bool {
	stride, size, n := f.in+64, f.in*int64(to.Size()), min(16, hi-lo)
	words := ceilDiv(n*stride, 4)
	if words+3*n*f.groups > int64(len(scratch)) {
		return false
	}
	codes, s, room, z := asm.Raw(scratch[:words])[:n*stride], scratch[words:][:n*f.groups], scratch[words+n*f.groups:][:n*f.groups], scratch[words+2*n*f.groups:][:f.groups]
	for at := lo; at < hi; at += n {
		n := min(n, hi-at)
		o.Transpose(1, codes, parts[0][at:], int(f.in), int(n), int(stride), int(f.out))
		fillColumns(o, s[:n*f.groups], room[:n*f.groups], parts[1], f.scale, f.bulk, f.scaleSize, f.out, f.groups, at, n)
		for i := range n {
			for g := range z {
				z[g] = float32(parts[2][int64(g)*f.out+at+i])
			}
			o.Bytes(asm.Bytes{Op: asm.Shift, Unsigned: true}, to, dst[(at+i-lo)*size:][:size], codes[i*stride:][:f.in], s[i*f.groups:][:f.groups], z, int(f.groupSize))
		}
	}
	return true
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
