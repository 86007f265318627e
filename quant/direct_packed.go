package quant

import "github.com/anamnesis-go/anamnesis/asm"

// The numbers that codes of four bits count.
var counted = [16]float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}

// outputsAtOnce is how many columns of packed words are turned into rows at a
// time: the words of a cache line, twice, so that no line is fetched again.
const outputsAtOnce = 32

// direct turns words of columns into rows, which are then codes in a stream,
// and decodes those group by group.
func (f *gptq) direct(o *asm.Ops, dst []byte, to asm.Type, parts [][]byte, lo, hi int64, scratch []float32) bool {
	words := f.in * f.bits / 32
	if f.bits != 4 && f.bits != 8 || f.groupSize%2 != 0 || f.in*f.bits%32 != 0 || words+2*f.groups > f.in {
		return false
	}
	if len(parts) > gptqIndex && !f.inOrder(parts[gptqIndex]) {
		return f.outOfOrder(o, dst, to, parts, lo, hi, scratch)
	}
	for at := lo; at < hi; at += outputsAtOnce {
		n := min(outputsAtOnce, hi-at)
		stream := asm.Raw(scratch[:n*words])
		o.Transpose(4, stream, parts[gptqWeight][4*at:], int(words), int(n), int(4*words), int(4*f.out))
		numbers := scratch[n*words:]
		for i := range n {
			s, z := numbers[:f.groups], numbers[f.groups:2*f.groups]
			f.numbers(s, z, parts, at+i)
			row := dst[(at+i-lo)*f.in*int64(to.Size()):][:f.in*int64(to.Size())]
			codes := stream[4*words*i:][:4*words]
			if f.bits == 4 {
				o.Nibbles(asm.Nibbles{Op: asm.Shift, Book: &counted}, to, row, codes, s, z, int(f.groupSize))
			} else {
				o.Bytes(asm.Bytes{Op: asm.Shift, Unsigned: true}, to, row, codes, s, z, int(f.groupSize))
			}
		}
	}
	return true
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

// numbers fills in the scales and zero points of the groups of an output.
func (f *gptq) numbers(s, z []float32, parts [][]byte, o int64) {
	words, shift, ones := f.out*f.bits/32, uint(o*f.bits%32), uint32(0)
	if f.oldZeros {
		ones = onesPerField[f.bits]
	}
	word := parts[gptqZeros][4*(o*f.bits/32):]
	for g := range s {
		s[g] = f.scale(parts[gptqScales], int64(g)*f.out+o)
		z[g] = float32((u32(word[4*int64(g)*words:]) + ones) >> shift & (1<<f.bits - 1))
	}
}

// outOfOrder looks the codes of each output up in a table of all its groups.
func (f *gptq) outOfOrder(o *asm.Ops, dst []byte, to asm.Type, parts [][]byte, lo, hi int64, scratch []float32) bool {
	words, size := f.in/8, int64(to.Size())
	n := min(8, hi-lo)
	tableWords, rest := ceilDiv(f.groups*16*size, 4), n*words
	need := rest + ceilDiv(f.in, 2) + ceilDiv(f.in, 4) + tableWords + 18*f.groups
	if f.bits != 4 || f.groups > 4095 || need > int64(len(scratch)) {
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
			f.numbers(s, z, parts, at+i)
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
	const atOnce = 8 // columns of words
	first, end, size := lo/8, ceilDiv(hi, 8), int64(to.Size())
	n := min(atOnce, end-first)
	if f.bits != 4 || f.out%8 != 0 || n*f.in+f.in+2*f.groups > int64(len(scratch)) {
		return false
	}
	lanes := asm.Raw(scratch[n*f.in:][:f.in])
	s, z := scratch[n*f.in+f.in:][:f.groups], scratch[n*f.in+f.in+f.groups:][:f.groups]
	for at := first; at < end; at += n {
		n := min(n, end-at)
		stream := asm.Raw(scratch[:n*f.in])
		o.Transpose(4, stream, parts[0][4*at:], int(f.in), int(n), int(4*f.in), int(f.out/2))
		for i := range n {
			o.Lanes(lanes, stream[4*f.in*i:][:4*f.in], int(f.in))
			for j, nibble := range awqNibble {
				out := 8*(at+i) + int64(j)
				if out < lo || out >= hi {
					continue
				}
				for g := range s {
					s[g] = f.scale(parts[1], int64(g)*f.out+out)
					z[g] = float32(u32(parts[2][4*(int64(g)*f.out/8+at+i):]) >> (4 * nibble) & 15)
				}
				o.HalfBytes(asm.HalfBytes{From: uint8(nibble % 2 * 4), Book: &counted}, to, dst[(out-lo)*f.in*size:][:f.in*size],
					lanes[int64(nibble/2)*f.in:][:f.in], s, z, int(f.groupSize))
			}
		}
	}
	return true
}
