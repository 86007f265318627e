package asm

// A group of a K block is 16 or 32 numbers under one scale, or one scale and one
// minimum, which are integers times the block's d and dmin. All of these encoders
// go the same way: search each group, make integers of what was found, and choose
// the codes anew under the rounded scales, so that the rounding of the scales is
// made up for. A group whose scale comes out as zero keeps the codes of its search.

// affineGroups is what Q2_K, Q4_K and Q5_K have in common.
type affineGroups struct {
	group, top, scaleTop int
	plain                affineSearch // without a matrix
	factor               float32      // of the mean of squares, with a matrix
	// weigh gives the weights of one group without a matrix.
	weigh func(w, x []float32)
}

// search finds the groups' scales and minimums as codes, and d and dmin.
func (k *affineGroups) search(codes []uint8, sc, mn []uint8, x, matrix []float32) (d, dmin float32) {
	var scales, minimums, sums [16]float32
	var scratch [32]uint8
	var w [32]float32
	n := len(x) / k.group
	mean := float32(k.factor*squares(x)) / float32(len(x))
	for g := range n {
		at, weights := g*k.group, w[:k.group]
		s := k.plain
		if run := x[at:][:k.group]; matrix == nil {
			k.weigh(weights, run)
		} else {
			importance(weights, run, matrix[at:], mean)
			sums[g] = total(weights)
			s = affineSearch{first: -0.9, step: 0.05, steps: 36}
		}
		s.top = k.top
		scales[g], minimums[g] = s.find(codes[at:][:k.group], scratch[:k.group], x[at:][:k.group], weights)
	}
	if matrix != nil {
		return searchPositive(sc[:n], scales[:n], sums[:n], k.scaleTop), searchPositive(mn[:n], minimums[:n], sums[:n], k.scaleTop)
	}
	return byLargest(sc[:n], scales[:n], k.scaleTop), byLargest(mn[:n], minimums[:n], k.scaleTop)
}

// byLargest makes integers of numbers, the largest of which becomes top.
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

// choose gives each group the codes that are nearest under its rounded scale.
func (k *affineGroups) choose(codes, sc, mn []uint8, x []float32, d, dmin float32) {
	for g := range len(x) / k.group {
		scale, minimum := d*float32(sc[g]), dmin*float32(mn[g])
		if scale == 0 {
			continue
		}
		for i := g * k.group; i < (g+1)*k.group; i++ {
			codes[i] = uint8(clamp(nearest((x[i]+minimum)/scale), 0, k.top))
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
	group: 16, top: 3, scaleTop: 15, factor: 1,
	plain: affineSearch{first: -0.5, step: 0.1, steps: 15, absolute: true},
	weigh: func(w, x []float32) {
		for i, v := range x {
			w[i] = abs32(v)
		}
	},
}

var groupsQ4_K = affineGroups{
	group: 32, top: 15, scaleTop: 63, factor: 2, plain: affineSearch{first: -1, step: 0.1, steps: 20}, weigh: nearGroup,
}

var groupsQ5_K = affineGroups{
	group: 32, top: 31, scaleTop: 63, factor: 2, plain: affineSearch{first: -0.5, step: 0.1, steps: 15}, weigh: nearGroup,
}

var encodeQ2_K = eachBlock(256, 84, func(p []byte, x, matrix []float32) {
	var codes [256]uint8
	var sc, mn [16]uint8
	d, dmin := groupsQ2_K.search(codes[:], sc[:], mn[:], x, matrix)
	for i := range 16 {
		p[i] = sc[i] | mn[i]<<4
		sc[i], mn[i] = p[i]&15, p[i]>>4
	}
	groupsQ2_K.choose(codes[:], sc[:], mn[:], x, putHalf(p[80:], d), putHalf(p[82:], dmin))
	twoBitCodes(p[16:80], codes[:])
})

// twoBitCodes stores codes i, i+32, i+64 and i+96 of each 128 in one byte.
func twoBitCodes[T int8 | uint8](dst []byte, codes []T) {
	for i := range dst {
		c := codes[i/32*128+i%32:]
		dst[i] = byte(c[0]) | byte(c[32])<<2 | byte(c[64])<<4 | byte(c[96])<<6
	}
}

// sixBitPairs stores eight scales and eight minimums of six bits; see sixBitPair.
func sixBitPairs(p []byte, sc, mn []uint8) {
	for i := range 4 {
		p[i] = sc[i] | sc[i+4]>>4<<6
		p[i+4] = mn[i] | mn[i+4]>>4<<6
		p[i+8] = sc[i+4]&15 | mn[i+4]&15<<4
	}
}

// sixBitBlock writes what Q4_K and Q5_K begin with and gives the codes.
func sixBitBlock(k *affineGroups, p []byte, codes []uint8, x, matrix []float32) {
	var sc, mn [8]uint8
	d, dmin := k.search(codes, sc[:], mn[:], x, matrix)
	if matrix == nil || k == &groupsQ5_K {
		for i := range 8 {
			sc[i], mn[i] = min(63, sc[i]), min(63, mn[i])
		}
	}
	sixBitPairs(p[4:], sc[:], mn[:])
	for i := range 8 {
		sc[i], mn[i] = sixBitPair(p[4:16], i)
	}
	k.choose(codes, sc[:], mn[:], x, putHalf(p, d), putHalf(p[2:], dmin))
}

var encodeQ4_K = eachBlock(256, 144, func(p []byte, x, matrix []float32) {
	var codes [256]uint8
	sixBitBlock(&groupsQ4_K, p, codes[:], x, matrix)
	for i := range 4 {
		nibbles(p[16+32*i:][:32], codes[64*i:][:64])
	}
})

var encodeQ5_K = eachBlock(256, 176, func(p []byte, x, matrix []float32) {
	var codes [256]uint8
	sixBitBlock(&groupsQ5_K, p, codes[:], x, matrix)
	clear(p[16:48])
	for i, c := range codes {
		p[16+i%32] |= c >> 4 << (i / 32)
	}
	for i := range 4 {
		nibbles(p[48+32*i:][:32], codes[64*i:][:64])
	}
})

// nearestCodes gives each group of 16 the codes nearest under its rounded scale, plus half.
func nearestCodes(codes []int8, x []float32, half int, scale func(group int) float32) {
	for g := range len(x) / 16 {
		d := scale(g)
		if d == 0 {
			continue
		}
		for i := 16 * g; i < 16*(g+1); i++ {
			codes[i] = int8(clamp(nearest(x[i]/d), -half, half-1) + half)
		}
	}
}

var encodeQ3_K = eachBlock(256, 110, func(p []byte, x, matrix []float32) {
	var codes [256]int8
	var sc [16]int8
	d := putHalf(p[108:], scalesQ3_K(codes[:], sc[:], x, matrix))
	clear(p[:108])
	for i, c := range sc {
		p[96+i%8] |= byte(c) & 15 << (i / 8 * 4)
		p[104+i%4] |= byte(c) >> 4 << (i / 4 * 2)
	}
	nearestCodes(codes[:], x, 4, func(g int) float32 { return d * float32(sc[g]-32) })
	for i, c := range codes {
		p[i%32] |= byte(c) >> 2 << (i / 32)
		codes[i] = c & 3
	}
	twoBitCodes(p[32:96], codes[:])
})

// scalesQ3_K searches the groups; their scales are integers plus 32.
func scalesQ3_K(codes, sc []int8, x, matrix []float32) (d float32) {
	var scales, sums [16]float32
	var w [16]float32
	mean := float32(2*squares(x)) / 256
	for g := range 16 {
		run, at := x[16*g:][:16], 16*g
		if matrix == nil {
			scales[g] = searchByMoves(codes[at:][:16], run, 4)
			continue
		}
		importance(w[:], run, matrix[at:], mean)
		sums[g] = total(w[:])
		scales[g] = searchSymmetric(codes[at:][:16], run, w[:], 4)
	}
	if matrix != nil {
		return searchSymmetric(sc, scales[:], sums[:], 32)
	}
	top, _ := largest(scales[:])
	if top == 0 {
		clear(sc)
		return 0
	}
	inverse := -32 / top
	for i, s := range scales {
		sc[i] = int8(clamp(nearest(float32(inverse*s)), -32, 31) + 32)
	}
	return 1 / inverse
}

var encodeQ6_K = eachBlock(256, 210, func(p []byte, x, matrix []float32) {
	var codes [256]int8
	var scales [16]float32
	for g := range 16 {
		var w []float32
		if matrix != nil {
			w = matrix[16*g:][:16]
		}
		scales[g] = searchSymmetric(codes[16*g:][:16], x[16*g:][:16], w, 32)
	}
	top, magnitude := largest(scales[:])
	if magnitude < tinyGroup {
		clear(p)
		return
	}
	inverse := -128 / top
	d := putHalf(p[208:], 1/inverse)
	for i, s := range scales {
		p[192+i] = byte(min(127, nearest(float32(inverse*s))))
	}
	nearestCodes(codes[:], x, 32, func(g int) float32 { return d * float32(int8(p[192+g])) })
	for i := range 128 {
		c := codes[i/64*128+i%64:]
		p[i] = byte(c[0])&15 | byte(c[64])&15<<4
	}
	for i := range 64 {
		c := codes[i/32*128+i%32:]
		p[128+i] = byte(c[0])>>4 | byte(c[32])>>4<<2 | byte(c[64])>>4<<4 | byte(c[96])>>4<<6
	}
})
