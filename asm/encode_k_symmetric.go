package asm

import (
	"encoding/binary"
	"unsafe"
)

// symmetricGroups is what Q3_K and Q6_K have in common: groups of 16.
type symmetricGroups struct {
	size, half int
	raw        bool // the columns' importance is the weight itself
	moves      bool // the search without a matrix moves codes
	// find searches one group of a block.
	find func(b *symmetricBlock, g int, x, matrix []float32, mean float32)
	// head writes the scales and rounds them; false if the block is zeros.
	head func(p []byte, b *symmetricBlock, matrix bool) bool
	// put is head where the scales' integers are known already, or nil.
	put  func(p []byte, b *symmetricBlock)
	pack func(p []byte, codes *[256]uint8)
}

// A symmetricBlock is a block while it is encoded.
type symmetricBlock struct {
	scales, sums, rounded [16]float32
	codes                 [256]uint8
	sc                    [16]int8 // the integers that scales become, and what they are multiples of
	d                     float32
}

// encode writes a row.
func (k *symmetricGroups) encode(dst []byte, src, matrix []float32) {
	s := searches.Get().(*searched)
	defer searches.Put(s)
	b := &s.symmetric
	for at := 0; at < len(src); at += 256 {
		x, m, p := src[at:][:256], columns(matrix, at, 256), dst[at/256*k.size:][:k.size]
		mean := twiceMean(x, m)
		for g := range 16 {
			k.find(b, g, x, m, mean)
		}
		if k.head(p, b, m != nil) {
			k.choose(b, x)
			k.pack(p, &b.codes)
		}
	}
}

// choose sets each group's nearest codes under its rounded scale.
func (k *symmetricGroups) choose(b *symmetricBlock, x []float32) {
	for g, d := range b.rounded {
		if d == 0 {
			continue
		}
		for i := 16 * g; i < 16*(g+1); i++ {
			b.codes[i] = uint8(clamp(nearest(x[i]/d), -k.half, k.half-1) + k.half)
		}
	}
}

// twiceMean returns twice the mean of a block's squares, which only a matrix needs.
func twiceMean(x, matrix []float32) float32 {
	if matrix == nil {
		return 0
	}
	return float32(2*squares(x)) / 256
}

var groupsQ3_K = symmetricGroups{
	size: 110, half: 4, moves: true,
	find: func(b *symmetricBlock, g int, x, matrix []float32, mean float32) {
		run, codes := x[16*g:][:16], signed(b.codes[16*g:][:16])
		if matrix == nil {
			b.scales[g] = searchByMoves(codes, run, 4)
			return
		}
		var w [16]float32
		importance(w[:], run, matrix[16*g:], mean)
		b.sums[g] = total(w[:])
		b.scales[g] = searchSymmetric(codes, run, w[:], 4)
	},
	head: headQ3_K, put: putQ3_K,
	pack: func(p []byte, codes *[256]uint8) {
		for i := 0; i < 32; i += 8 {
			bits := uint64(0)
			for g := range 8 {
				bits |= eight(codes[32*g+i:]) >> 2 & eachByte << g
			}
			binary.LittleEndian.PutUint64(p[i:], bits)
		}
		twoBitCodes(p[32:96], codes[:])
	},
}

// headQ3_K converts the scales to six-bit integers plus 32.
func headQ3_K(p []byte, b *symmetricBlock, matrix bool) bool {
	if b.sc, b.d = [16]int8{}, 0; matrix {
		b.d = searchSymmetric(b.sc[:], b.scales[:], b.sums[:], 32)
	} else if top, _ := largest(b.scales[:]); top != 0 {
		inverse := -32 / top
		for i, s := range b.scales {
			b.sc[i] = int8(clamp(nearest(float32(inverse*s)), -32, 31) + 32)
		}
		b.d = 1 / inverse
	}
	putQ3_K(p, b)
	return true
}

func putQ3_K(p []byte, b *symmetricBlock) {
	d := putHalf(p[108:], b.d)
	clear(p[96:108])
	for i, c := range b.sc {
		p[96+i%8] |= byte(c) & 15 << (i / 8 * 4)
		p[104+i%4] |= byte(c) >> 4 << (i / 4 * 2)
		b.rounded[i] = d * float32(c-32)
	}
}

var groupsQ6_K = symmetricGroups{
	size: 210, half: 32, raw: true,
	find: func(b *symmetricBlock, g int, x, matrix []float32, _ float32) {
		var w []float32
		if matrix != nil {
			w = matrix[16*g:][:16]
		}
		b.scales[g] = searchSymmetric(signed(b.codes[16*g:][:16]), x[16*g:][:16], w, 32)
	},
	head: func(p []byte, b *symmetricBlock, _ bool) bool {
		top, magnitude := largest(b.scales[:])
		if magnitude < tinyGroup {
			clear(p)
			return false
		}
		inverse := -128 / top
		d := putHalf(p[208:], 1/inverse)
		for i, s := range b.scales {
			p[192+i] = byte(min(127, nearest(float32(inverse*s))))
			b.rounded[i] = d * float32(int8(p[192+i]))
		}
		return true
	},
	pack: func(p []byte, codes *[256]uint8) {
		for i := 0; i < 128; i += 8 {
			c := codes[i/64*128+i%64:]
			binary.LittleEndian.PutUint64(p[i:], eight(c)&(15*eachByte)|eight(c[64:])&(15*eachByte)<<4)
		}
		for i := 0; i < 64; i += 8 {
			c := codes[i/32*128+i%32:]
			bits := uint64(0)
			for k := range 4 {
				bits |= eight(c[32*k:]) >> 4 & (3 * eachByte) << (2 * k)
			}
			binary.LittleEndian.PutUint64(p[128+i:], bits)
		}
	},
}

var (
	encodeQ3_K = groupsQ3_K.encode
	encodeQ6_K = groupsQ6_K.encode
)

// signed returns codes as the searches have them, counted from -half.
func signed(codes []uint8) []int8 {
	return unsafe.Slice((*int8)(unsafe.Pointer(&codes[0])), len(codes))
}
