package avx2

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// What the grid types keep in bits is taken apart for many elements at once, and
// waits in memory: indices of rows as words, sign sets as bytes.

// ofBits is what setBits needs.
func ofBits() []Mem { return []Mem{byteOfBit(), bitOfByte()} }

func bitOfByte() Mem { return Bytes32(1, 2, 4, 8, 16, 32, 64, 128) }

// byteOfBit is the byte that has each element's bit.
func byteOfBit() Mem {
	return Data([]byte{0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 3, 3, 3})
}

// setBits is FF for each element whose bit in the 32 at m is set.
func (k *kernel) setBits(m Mem) VecVirtual {
	y, bit := YMM(), k.constant(bitOfByte())
	VPBROADCASTD(m, y)
	VPSHUFB(k.constant(byteOfBit()), y, y)
	VPAND(bit, y, y)
	VPCMPEQB(bit, y, y)
	return y
}

// evenSets makes 32 sign sets of eight bits whole, of which the eighth makes the
// number of minuses even, and keeps them.
func (k *kernel) evenSets(y VecVirtual) Mem {
	odd, at := YMM(), k.local(32)
	VPSRLW(Imm(4), y, odd)
	VPXOR(y, odd, odd)
	VPAND(Bytes32(0x0F), odd, odd)
	table := Into(YMM(), VMOVDQU, Bytes32(0, 0x80, 0x80, 0, 0x80, 0, 0, 0x80, 0x80, 0, 0, 0x80, 0, 0x80, 0x80, 0))
	VPSHUFB(odd, table, odd)
	VPOR(odd, y, y)
	VMOVDQU(y, at)
	return at
}

// sevenBits is the four fields of seven bits of each dword, a byte each.
func sevenBits(words VecVirtual) VecVirtual {
	y := Into(YMM(), VPAND, Dwords(0x7F), words)
	for i := range 3 {
		field := Into(YMM(), VPSLLD, Imm(uint64(i+1)), words)
		VPAND(Dwords(0x7F00<<(8*i)), field, field)
		VPOR(field, y, y)
	}
	return y
}

// A highBits says how the upper bits of sixteen indices stand in their bytes:
// the byte of each, a factor that brings its bits to bit at and upwards, and
// a mask of them there, which is above bit 8 by down.
type highBits struct {
	bytes  [16]byte
	factor [16]uint16
	mask   uint16
	down   uint64
}

// fieldsOfBytes is n fields of width bits in each byte, the first the lowest.
func fieldsOfBytes(n, width int, mask uint16) (h highBits) {
	for i := range 16 {
		h.bytes[i] = byte(i / n)
		h.factor[i] = 256 >> (i % n * width)
	}
	h.mask = mask << 8
	return h
}

// fieldsOfWords is four fields of three bits in each word.
func fieldsOfWords() (h highBits) {
	for i := range 16 {
		h.bytes[i] = byte(i / 4 * 2)
		h.factor[i] = 512 >> (i % 4 * 3)
	}
	h.mask, h.down = 7<<9, 1
	return h
}

// indices joins n bytes at low with their upper bits at high, and keeps them as
// words.
func (k *kernel) indices(n, low, high int, h highBits, whole bool) Mem {
	var order []byte
	used := 0
	for _, b := range h.bytes {
		next := byte(0x80)
		if whole {
			next = b + 1
		}
		order = append(order, b, next)
		used = max(used, int(b)+1)
	}
	if whole {
		used++
	}
	at, shuffle, factor := k.local(2*n), Load32(Data(order)), Load32(Words(h.factor[:]...))
	for i := 0; i < n; i += 16 {
		y, up := YMM(), YMM()
		VPMOVZXBW(k.from(low+i), y)
		switch used {
		case 2:
			VPBROADCASTW(k.from(high+i/8), up)
		case 4:
			VPBROADCASTD(k.from(high+i/4), up)
		default:
			VPBROADCASTQ(k.from(high+i/2), up)
		}
		VPSHUFB(shuffle, up, up)
		VPMULLW(factor, up, up)
		VPAND(Words(h.mask), up, up)
		if h.down > 0 {
			VPSRLW(Imm(h.down), up, up)
		}
		VPOR(up, y, y)
		VMOVDQU(y, at.Offset(2*i))
	}
	return at
}
