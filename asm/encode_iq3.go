package asm

import "encoding/binary"

var (
	searchIQ3_XXS = gridSearch{lattice: iq3xxsLattice, elems: 4, top: 8, tries: 15, step: 0.2, tiny: 1e-8, even: true}
	searchIQ3_S   = gridSearch{lattice: iq3sLattice, elems: 4, top: 8, tries: 9, step: 0.2, all: true}
)

var gridIQ3_XXS gridEncoder = func(kernels *searchKernels, room *searched, p []byte, x, matrix []float32) {
	g := &room.grid
	var scales [8]float32
	var units [8]uint8
	clear(p)
	grid, mean := iq3xxsLattice(), 2*squares(x)/256
	for b := range scales {
		run := x[32*b:][:32]
		g.weigh(run, part(matrix, 32*b), mean, squared)
		searchIQ3_XXS.split(g, run)
		searchIQ3_XXS.find(kernels, g, 32)
		if scales[b] = g.scale; g.zero {
			continue
		}
		for k := range 8 {
			p[2+8*b+k] = byte(grid.index[g.points[k]])
		}
		signs := uint32(0)
		for k, s := range g.signs {
			signs |= uint32(s) << (7 * k)
		}
		binary.LittleEndian.PutUint32(p[66+4*b:], signs)
	}
	d := fourBitScales(scales[:], units[:])
	if d == 0 {
		clear(p)
		return
	}
	putHalf(p, d*1.0125)
	for b, l := range units {
		p[66+4*b+3] |= l << 4
	}
}

// Where a group is zeros ggml stores the codes and signs of those after it one place
// too early, but the high bits of their indices where they belong; so does this.
var gridIQ3_S gridEncoder = func(kernels *searchKernels, room *searched, p []byte, x, matrix []float32) {
	g := &room.grid
	var scales [8]float32
	var units [8]uint8
	clear(p)
	grid, mean, at := iq3sLattice(), 2*squares(x)/256, 0
	for b := range scales {
		run := x[32*b:][:32]
		g.weigh(run, part(matrix, 32*b), mean, squared)
		searchIQ3_S.split(g, run)
		searchIQ3_S.find(kernels, g, 32)
		if scales[b] = g.scale; g.zero {
			continue
		}
		for k := range 8 {
			index := grid.index[g.points[k]]
			p[2+8*at+k] = byte(index)
			p[66+b] |= byte(index >> 8 << k)
		}
		copy(p[74+4*at:], g.signs[:])
		at++
	}
	d := fourBitScales(scales[:], units[:])
	if d == 0 {
		return
	}
	putHalf(p, d*1.033)
	for b, l := range units {
		p[106+b/2] |= l << (b % 2 * 4)
	}
}
