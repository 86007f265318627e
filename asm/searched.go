package asm

import "sync"

// A searched is scratch memory of encoders that search scales. Arguments of a function
// variable escape, so it cannot be on the stack.
type searched struct {
	lanes     lanes
	affine    affineBlock
	symmetric symmetricBlock
	several   severalBlocks
	grid      gridGroup
	iq1       iq1Group
	codes     [16 * 32]byte
}

var searches = sync.Pool{New: func() any { return new(searched) }}

// A lanes is sixteen groups side by side: element 0 of all groups, then element 1, and so
// on. Kernels know the offsets of its arrays, and use some that no Go function does.
type lanes struct {
	x, weights, weighted, codes              [32 * 16]float32 //lint:ignore U1000 for the kernels
	scale, low, sum, sumX, high, least, cost [16]float32      //lint:ignore U1000 for the kernels
	bad                                      [16]uint32       // not 0 where a group's codes were out of the kernel's range
	top, bottom                              [16]float32
	mean, largest                            [16]float32 //lint:ignore U1000 for the kernels
	trial, base                              [16]float32 // of the best: codes are round((x-base)*inverse), the inverse trial/largest or trial/(high-base)
	trials                                   [40]float32
	limits                                   [2]uint32 // see choose
}

// A chooseKernel writes codes of groups, see [Ops.choose].
type chooseKernel = func(dst *byte, x, scales, minimums *float32, limits *uint32, steps, n int)

// A laneKernel searches groups of elems elements in lanes.
type laneKernel = func(l *float32, elems, trials int)

// A weighing says how elements are weighed.
type weighing uint8

const (
	byMatrix    weighing = iota // importance, by the columns in weights
	bySquare                    // x^2
	byMagnitude                 // |x|
	byNearness                  // nearGroup
	weighings
)

// searchKernels are the kernels of searches of a level.
type searchKernels struct {
	weigh     [weighings]laneKernel
	affine    [2]laneKernel // errors by square, by magnitude
	symmetric laneKernel
	moves     laneKernel
	codebook  func(l, values *float32, elems, trials int)
	codes     func(dst *byte, x, inverses, values *float32, stride, n int) // of a codebook
	choose    chooseKernel                                                 // by scales
	times     chooseKernel                                                 // by their inverses
	levels    func(group *float32, points, elems, bits, top, eights int)   // keys of all tries; see gridGroup
	fits      func(group *float32, points, elems, bits, eights int)        // sums of all tries
	near      [4]nearKernel                                                // by bits of a level
}

// A nearKernel returns the index of the nearest neighbor, in lists of a multiple of eight.
type nearKernel = func(near *uint16, eights int, x, w *float32, values *[8]float32, scale float32) int

// laneEncoders are the encoders that search sixteen groups at once.
var laneEncoders = [Kinds]func(o *Ops, dst []byte, src, matrix []float32){
	Q2_K: groupsQ2_K.encodeLanes, Q4_K: groupsQ4_K.encodeLanes, Q5_K: groupsQ5_K.encodeLanes,
	Q3_K: groupsQ3_K.encodeLanes, Q6_K: groupsQ6_K.encodeLanes, IQ4_NL: lanesIQ4_NL, IQ4_XS: lanesIQ4_XS,
	Q4_0: smallQ4_0.encodeLanes, Q4_1: smallQ4_1.encodeLanes, Q5_0: smallQ5_0.encodeLanes, Q5_1: smallQ5_1.encodeLanes,
	IQ1_S: gridIQ1_S.lanes(50), IQ1_M: gridIQ1_M.lanes(56), IQ2_XXS: gridIQ2_XXS.lanes(66), IQ2_XS: gridIQ2_XS.lanes(74),
	IQ2_S: gridIQ2_S.lanes(82), IQ3_XXS: gridIQ3_XXS.lanes(98), IQ3_S: gridIQ3_S.lanes(110),
}

// load puts groups of elems elements into lanes; other lanes are unchanged.
func (o *Ops) load(lanes *[32 * 16]float32, x []float32, elems int) {
	o.Transpose(4, Raw(lanes[:]), Raw(x), len(x)/elems, elems, Strides{64, 4 * elems})
}

// weigh sets the weights of the loaded groups, by columns if there is a matrix.
func (l *lanes) weigh(o *Ops, by weighing, matrix []float32, elems int) {
	if matrix != nil {
		o.load(&l.weights, matrix, elems)
		by = byMatrix
	}
	o.search.weigh[by](&l.x[0], elems, 0)
}

// limit sets the least and the largest code.
func (l *lanes) limit(bottom, top int) {
	for i := range l.top {
		l.bottom[i], l.top[i] = float32(bottom), float32(top)
	}
}

// affine sets the trials of affineSearch.find.
func (l *lanes) affine(s *affineSearch) {
	l.limit(0, s.top)
	l.trials[0] = float32(s.top)
	for step := range s.steps + 1 {
		l.trials[1+step] = s.first + float32(s.step*float32(step)) + float32(s.top)
	}
}

// encodeLanes is encode with kernels.
func (k *affineGroups) encodeLanes(o *Ops, dst []byte, src, matrix []float32) {
	room := searches.Get().(*searched)
	defer searches.Put(room)
	l, s := &room.lanes, k.search(matrix)
	kernel := o.search.affine[0]
	if s.absolute {
		kernel = o.search.affine[1]
	}
	l.affine(&s)
	for at := 0; at < len(src); at += 16 * k.group {
		x := src[at:min(len(src), at+16*k.group)]
		m := columns(matrix, at, len(x))
		o.load(&l.x, x, k.group)
		for i := 0; m != nil && i < len(x); i += 256 {
			mean := k.mean(x[i:][:256], m)
			for g := range 256 / k.group {
				l.mean[i/k.group+g] = mean
			}
		}
		l.weigh(o, k.weights, m, k.group)
		kernel(&l.x[0], k.group, s.steps+1)
		for i := 0; i < len(x); i += 256 {
			k.finish(o, dst[(at+i)/256*k.size:][:k.size], room, i/k.group, x[i:][:256], columns(m, i, 256))
		}
	}
}

// finish writes a block whose groups are the lanes from first on. Groups that the kernel
// does not handle, and those whose codes come from the search, are searched again.
func (k *affineGroups) finish(o *Ops, p []byte, room *searched, first int, x, matrix []float32) {
	n, l, b := 256/k.group, &room.lanes, &room.affine
	for g := range n {
		lane := first + g
		b.scales[g], b.minimums[g], b.sums[g] = l.scale[lane], -l.low[lane], l.sum[lane]
		if low := min(l.least[lane], 0); low == l.high[lane] {
			b.scales[g], b.minimums[g] = 0, -low
		} else if l.bad[lane] != 0 {
			k.find(b, g, x, matrix, l.mean[lane])
		}
	}
	d, dmin := k.head(k, p, b, matrix != nil)
	scales, minimums := &b.scales, &b.minimums
	for g := range n {
		scales[g], minimums[g] = d*float32(b.sc[g]), dmin*float32(b.mn[g])
	}
	o.choose(l, &b.codes, x, choice{scales, minimums, k.group, 0, k.top})
	for g := range n {
		if d*float32(b.sc[g]) == 0 {
			k.find(b, g, x, matrix, l.mean[first+g])
		}
	}
	k.pack(p, &b.codes)
}

// A choice is the input for choosing codes of a block's groups: scales and minimums,
// elements per group, and the least and largest code.
type choice struct {
	scales, minimums      *[16]float32
	group, least, largest int
}

// choose writes the codes of a block's groups.
func (o *Ops) choose(l *lanes, codes *[256]uint8, x []float32, c choice) {
	l.limits = between(c.least, c.largest)
	o.search.choose(&codes[0], &x[0], &c.scales[0], &c.minimums[0], &l.limits[0], c.group/16, 256/c.group)
}

// between returns the least and largest code as nearest's integers before its offset is
// subtracted.
func between(least, largest int) [2]uint32 {
	return [2]uint32{uint32(0x400000 + least), uint32(0x400000 + largest)}
}

// encodeLanes is encode with kernels. It takes sixteen blocks: each is searched in sixteen
// lanes, then the scales of all are, a block in each lane.
func (k *symmetricGroups) encodeLanes(o *Ops, dst []byte, src, matrix []float32) {
	room := searches.Get().(*searched)
	defer searches.Put(room)
	l, b, several := &room.lanes, &room.symmetric, &room.several
	l.symmetric(k.half)
	for at := 0; at < len(src); at += 16 * 256 {
		n := min(16, (len(src)-at)/256)
		for i := range n {
			from := at + 256*i
			x, m := src[from:][:256], columns(matrix, from, 256)
			several.means[i] = twiceMean(x, m)
			k.searchLanes(o, l, x, m, several.means[i])
			for g := range 16 {
				several.scales[16*i+g], several.sums[16*i+g] = l.scale[g], l.sum[g]
				if l.high[g] < tinyGroup {
					several.scales[16*i+g] = 0
				}
			}
		}
		if k.put != nil {
			l.integers(o, several, n, 32, matrix != nil)
			l.symmetric(k.half)
		}
		for i := range n {
			from := at + 256*i
			x, p := src[from:][:256], dst[from/256*k.size:][:k.size]
			b.scales, b.sums = [16]float32(several.scales[16*i:]), [16]float32(several.sums[16*i:])
			if !allFinite(b.scales[:]) || matrix != nil && !allFinite(b.sums[:]) { // sums that overflowed: infinity/infinity has no nearest integer
				k.encode(p, x, columns(matrix, from, 256))
				continue
			}
			if k.put != nil {
				b.sc, b.d = [16]int8(signed(several.codes[16*i:])), several.d[i]
				k.put(p, b)
			} else if !k.head(p, b, matrix != nil) {
				continue
			}
			o.choose(l, &b.codes, x, choice{&b.rounded, &noMinimums, 16, -k.half, k.half - 1})
			for g, d := range b.rounded {
				if d == 0 {
					k.find(b, g, x, columns(matrix, from, 256), several.means[i])
				}
			}
			k.pack(p, &b.codes)
		}
	}
}

// searchLanes searches the groups of a block.
func (k *symmetricGroups) searchLanes(o *Ops, l *lanes, x, matrix []float32, mean float32) {
	kernel := o.search.symmetric
	o.load(&l.x, x, 16)
	switch {
	case matrix != nil && k.raw:
		o.load(&l.weights, matrix, 16)
	case matrix == nil && k.moves:
		kernel = o.search.moves
	default:
		for i := range l.mean {
			l.mean[i] = mean
		}
		l.weigh(o, bySquare, matrix, 16)
	}
	kernel(&l.x[0], 16, symmetricTrials)
}

// A severalBlocks is the results for sixteen blocks of sixteen groups.
type severalBlocks struct {
	scales, sums [256]float32
	codes        [256]uint8 // that the scales become
	means, d     [16]float32
}

// integers converts the scales of n blocks to integers: under a searched scale with a
// matrix, else so that the largest magnitude becomes the least integer. Blocks of zeros
// have none.
func (l *lanes) integers(o *Ops, b *severalBlocks, n, half int, matrix bool) {
	if matrix {
		l.symmetric(half)
		o.load(&l.x, b.scales[:16*n], 16)
		o.load(&l.weights, b.sums[:16*n], 16)
		o.search.symmetric(&l.x[0], 16, symmetricTrials)
		l.inverses(false)
		b.d = l.scale
	} else {
		l.base = [16]float32{}
		for i := range n {
			top, magnitude := largest(b.scales[16*i:][:16])
			l.trial[i] = -float32(half) / top
			b.d[i] = 1 / l.trial[i]
			if l.high[i] = 1; magnitude == 0 {
				l.high[i] = 0
			}
		}
	}
	l.limits = between(-half, half-1)
	o.search.times(&b.codes[0], &b.scales[0], &l.trial[0], &l.base[0], &l.limits[0], 1, n)
	for i := range n {
		if l.high[i] < tinyGroup {
			b.d[i] = 0
			clear(b.codes[16*i:][:16])
		}
	}
}

// allFinite reports whether no number is infinite or NaN.
func allFinite(x []float32) bool {
	for _, v := range x {
		if v-v != 0 {
			return false
		}
	}
	return true
}

var noMinimums [16]float32

// symmetricTrials is the number of searchSymmetric's trials after the first.
const symmetricTrials = 18

// symmetric sets the trials of searchSymmetric.
func (l *lanes) symmetric(half int) {
	l.limit(-half, half-1)
	l.trials[0] = -float32(half)
	n := 1
	for step := -9; step <= 9; step++ {
		if step != 0 {
			l.trials[n] = -(float32(half) + float32(0.1*float32(step)))
			n++
		}
	}
}
