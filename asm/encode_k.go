package asm

import "encoding/binary"

// A group of a K block is 16 or 32 numbers under one scale, or one scale and one
// minimum, which are integers times the block's d and dmin. All of these encoders
// go the same way: search each group, make integers of what was found, and choose
// the codes anew under the rounded scales, so that the rounding of the scales is
// made up for. A group whose scale comes out as zero keeps the codes of its search.

// affineGroups is what Q2_K, Q4_K and Q5_K have in common.
type affineGroups struct {
	size                 int // of a block
	group, top, scaleTop int
	plain                affineSearch // without a matrix
	factor               float32      // of the mean of squares, with a matrix
	// weigh gives the weights of one group without a matrix, as the kernel does that is named.
	weigh   func(w, x []float32)
	weights weighing
	// head writes the fields before the codes, and returns what was written.
	head func(k *affineGroups, p []byte, b *affineBlock, matrix bool) (d, dmin float32)
	pack func(p []byte, codes *[256]uint8)
}

// An affineBlock is a block while it is encoded: the results for its groups, and the
// integers made of them.
type affineBlock struct {
	scales, minimums, sums [16]float32
	sc, mn                 [16]uint8
	codes                  [256]uint8
}

// withMatrix is the search of a group whose columns have importance.
var withMatrix = affineSearch{first: -0.9, step: 0.05, steps: 36}

// search returns the search of the groups, with or without a matrix.
func (k *affineGroups) search(matrix []float32) affineSearch {
	s := k.plain
	if matrix != nil {
		s = withMatrix
	}
	s.top = k.top
	return s
}

// mean returns that of a block's squares, which only a matrix needs.
func (k *affineGroups) mean(x, matrix []float32) float32 {
	if matrix == nil {
		return 0
	}
	return float32(k.factor*squares(x)) / float32(len(x))
}

// find searches one group of a block.
func (k *affineGroups) find(b *affineBlock, g int, x, matrix []float32, mean float32) {
	var scratch [32]uint8
	var w [32]float32
	at, weights := g*k.group, w[:k.group]
	run := x[at:][:k.group]
	if matrix == nil {
		k.weigh(weights, run)
	} else {
		importance(weights, run, matrix[at:], mean)
		b.sums[g] = total(weights)
	}
	s := k.search(matrix)
	b.scales[g], b.minimums[g] = s.find(b.codes[at:][:k.group], scratch[:k.group], run, weights)
}

// integers converts the scales and minimums of n groups to integers.
func (k *affineGroups) integers(b *affineBlock, n int, matrix bool) (d, dmin float32) {
	if matrix {
		return searchPositive(b.sc[:n], b.scales[:n], b.sums[:n], k.scaleTop), searchPositive(b.mn[:n], b.minimums[:n], b.sums[:n], k.scaleTop)
	}
	return byLargest(b.sc[:n], b.scales[:n], k.scaleTop), byLargest(b.mn[:n], b.minimums[:n], k.scaleTop)
}

// encode writes a row.
func (k *affineGroups) encode(dst []byte, src, matrix []float32) {
	s := searches.Get().(*searched)
	defer searches.Put(s)
	b := &s.affine
	for at := 0; at < len(src); at += 256 {
		x, m, p := src[at:][:256], columns(matrix, at, 256), dst[at/256*k.size:][:k.size]
		mean := k.mean(x, m)
		for g := range 256 / k.group {
			k.find(b, g, x, m, mean)
		}
		d, dmin := k.head(k, p, b, m != nil)
		k.choose(b, x, d, dmin)
		k.pack(p, &b.codes)
	}
}

// columns returns a part of a matrix, or nil.
func columns(matrix []float32, at, n int) []float32 {
	if matrix == nil {
		return nil
	}
	return matrix[at:][:n]
}

// byLargest converts numbers to integers, the largest to top.
func byLargest(codes []uint8, x []float32, top int) (d float32) {
	high := float32(0)
	for _, v := range x {
		if v > high {
			high = v
		}
	}
	inverse := float32(0)
	if high > 0 {
		inverse = float32(top) / high
	}
	for i, v := range x {
		codes[i] = uint8(nearest(float32(inverse * v)))
	}
	return high / float32(top)
}

// choose sets each group's nearest codes under its rounded scale.
func (k *affineGroups) choose(b *affineBlock, x []float32, d, dmin float32) {
	for g := range len(x) / k.group {
		scale, minimum := d*float32(b.sc[g]), dmin*float32(b.mn[g])
		if scale == 0 {
			continue
		}
		for i := g * k.group; i < (g+1)*k.group; i++ {
			b.codes[i] = uint8(clamp(nearest((x[i]+minimum)/scale), 0, k.top))
		}
	}
}

// nearGroup weighs a number of a group by its magnitude and the group's root mean square.
func nearGroup(w, x []float32) {
	rms := sqrt32(squares(x) / float32(len(x)))
	for i, v := range x {
		w[i] = rms + abs32(v)
	}
}

var groupsQ2_K = affineGroups{
	size: 84, group: 16, top: 3, scaleTop: 15, factor: 1,
	plain: affineSearch{first: -0.5, step: 0.1, steps: 15, absolute: true},
	weigh: func(w, x []float32) {
		for i, v := range x {
			w[i] = abs32(v)
		}
	},
	weights: byMagnitude,
	head: func(k *affineGroups, p []byte, b *affineBlock, matrix bool) (d, dmin float32) {
		d, dmin = k.integers(b, 16, matrix)
		for i := range 16 {
			p[i] = b.sc[i] | b.mn[i]<<4
			b.sc[i], b.mn[i] = p[i]&15, p[i]>>4
		}
		return putHalf(p[80:], d), putHalf(p[82:], dmin)
	},
	pack: func(p []byte, codes *[256]uint8) { twoBitCodes(p[16:80], codes[:]) },
}

var groupsQ4_K = affineGroups{
	size: 144, group: 32, top: 15, scaleTop: 63, factor: 2,
	plain: affineSearch{first: -1, step: 0.1, steps: 20}, weigh: nearGroup, weights: byNearness,
	head: func(k *affineGroups, p []byte, b *affineBlock, matrix bool) (d, dmin float32) {
		return sixBitHead(k, p, b, matrix, !matrix)
	},
	pack: func(p []byte, codes *[256]uint8) { nibblesOf64(p[16:], codes) },
}

var groupsQ5_K = affineGroups{
	size: 176, group: 32, top: 31, scaleTop: 63, factor: 2,
	plain: affineSearch{first: -0.5, step: 0.1, steps: 15}, weigh: nearGroup, weights: byNearness,
	head: func(k *affineGroups, p []byte, b *affineBlock, matrix bool) (d, dmin float32) {
		return sixBitHead(k, p, b, matrix, true)
	},
	pack: func(p []byte, codes *[256]uint8) {
		for i := 0; i < 32; i += 8 {
			bits := uint64(0)
			for g := range 8 {
				bits |= eight(codes[32*g+i:]) >> 4 & eachByte << g
			}
			binary.LittleEndian.PutUint64(p[16+i:], bits)
		}
		nibblesOf64(p[48:], codes)
	},
}

var (
	encodeQ2_K = groupsQ2_K.encode
	encodeQ4_K = groupsQ4_K.encode
	encodeQ5_K = groupsQ5_K.encode
)

// sixBitPairs stores eight scales and eight minimums of six bits, see sixBitPair.
func sixBitPairs(p []byte, sc, mn []uint8) {
	for i := range 4 {
		p[i] = sc[i] | sc[i+4]>>4<<6
		p[i+4] = mn[i] | mn[i+4]>>4<<6
		p[i+8] = sc[i+4]&15 | mn[i+4]&15<<4
	}
}

// sixBitHead writes the beginning of Q4_K and Q5_K.
func sixBitHead(k *affineGroups, p []byte, b *affineBlock, matrix, clamped bool) (d, dmin float32) {
	d, dmin = k.integers(b, 8, matrix)
	if clamped {
		for i := range 8 {
			b.sc[i], b.mn[i] = min(63, b.sc[i]), min(63, b.mn[i])
		}
	}
	sixBitPairs(p[4:], b.sc[:], b.mn[:])
	for i := range 8 {
		b.sc[i], b.mn[i] = sixBitPair(p[4:16], i)
	}
	return putHalf(p, d), putHalf(p[2:], dmin)
}

// eachByte is 1 in each byte of a word: of eight codes side by side.
const eachByte = 0x0101010101010101

func eight(codes []uint8) uint64 { return binary.LittleEndian.Uint64(codes) }

// twoBitCodes stores the low two bits of codes i, i+32, i+64 and i+96 of each 128 in one
// byte.
func twoBitCodes(dst []byte, codes []uint8) {
	for i := 0; i < len(dst); i += 8 {
		c := codes[i/32*128+i%32:][:104]
		const low = 3 * eachByte
		binary.LittleEndian.PutUint64(dst[i:], eight(c)&low|eight(c[32:])&low<<2|eight(c[64:])&low<<4|eight(c[96:])&low<<6)
	}
}

// nibblesOf64 stores codes i and i+32 of each 64 in one byte.
func nibblesOf64(dst []byte, codes *[256]uint8) {
	for i := range 4 {
		nibbles(dst[32*i:][:32], codes[64*i:][:64])
	}
}
