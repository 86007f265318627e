package asm

import "encoding/binary"

var (
	searchIQ2_XXS = gridSearch{lattice: iq2xxsLattice, elems: 8, top: 3, tries: 6, step: 0.1, tiny: tinyGroup, even: true, positive: true}
	searchIQ2_XS  = gridSearch{lattice: iq2xsLattice, elems: 8, top: 3, tries: 9, step: 0.1, tiny: tinyGroup, even: true}
	searchIQ2_S   = gridSearch{lattice: iq2sLattice, elems: 8, top: 3, tries: 9, step: 0.1, tiny: 1e-8}
)

// Without a matrix, which ggml's encoder demands, all columns count the same; so for
// IQ2_XS.
var gridIQ2_XXS gridEncoder = func(kernels *searchKernels, room *searched, p []byte, x, matrix []float32) {
	g := &room.grid
	var scales [8]float32
	var units [8]uint8
	clear(p)
	grid, mean := iq2xxsLattice(), squares(x)/256
	for b := range scales {
		run := x[32*b:][:32]
		g.weigh(run, part(matrix, 32*b), mean, func(v float32) float32 { return sqrt32(mean + float32(v*v)) })
		searchIQ2_XXS.split(g, run)
		searchIQ2_XXS.find(kernels, g, 32)
		if scales[b] = g.scale; g.zero {
			continue
		}
		signs := uint32(0)
		for k := range 4 {
			p[2+8*b+k] = byte(grid.index[g.points[k]])
			signs |= uint32(g.signs[k]) << (7 * k)
		}
		binary.LittleEndian.PutUint32(p[2+8*b+4:], signs)
	}
	d := fourBitScales(scales[:], units[:])
	if d == 0 {
		clear(p)
		return
	}
	putHalf(p, d)
	for b, l := range units {
		p[2+8*b+7] |= l << 4
	}
}

var gridIQ2_XS gridEncoder = func(kernels *searchKernels, room *searched, p []byte, x, matrix []float32) {
	g := &room.grid
	var scales [16]float32
	var units [16]uint8
	clear(p)
	grid, mean := iq2xsLattice(), squares(x)/256
	for b := range scales {
		run := x[16*b:][:16]
		g.weigh(run, part(matrix, 16*b), mean, func(v float32) float32 { return sqrt32(mean + float32(v*v)) })
		searchIQ2_XS.split(g, run)
		searchIQ2_XS.find(kernels, g, 16)
		if scales[b] = g.scale; g.zero {
			continue
		}
		for k := range 2 {
			binary.LittleEndian.PutUint16(p[2+4*b+2*k:], uint16(grid.index[g.points[k]])|uint16(g.signs[k])<<9)
		}
	}
	d := fourBitScales(scales[:], units[:])
	if d == 0 {
		clear(p[2:66])
		return
	}
	putHalf(p, d)
	for b, l := range units {
		p[66+b/2] |= l << (b % 2 * 4)
	}
}

var gridIQ2_S gridEncoder = func(kernels *searchKernels, room *searched, p []byte, x, matrix []float32) {
	g := &room.grid
	var scales [16]float32
	var units [16]uint8
	clear(p)
	grid, mean := iq2sLattice(), 2*squares(x)/256
	for b := range scales {
		run := x[16*b:][:16]
		g.weigh(run, part(matrix, 16*b), mean, func(v float32) float32 { return float32(0.25*mean) + float32(v*v) })
		searchIQ2_S.split(g, run)
		searchIQ2_S.find(kernels, g, 16)
		if scales[b] = g.scale; g.zero {
			continue
		}
		for k := range 2 {
			at, index := 2*b+k, grid.index[g.points[k]]
			p[2+at], p[34+at] = byte(index), g.signs[k]
			p[66+at/4] |= byte(index >> 8 << (at % 4 * 2))
		}
	}
	d := fourBitScales(scales[:], units[:])
	if d == 0 {
		return
	}
	putHalf(p, d*0.9875)
	for b, l := range units {
		p[74+b/2] |= l << (b % 2 * 4)
	}
}

// part returns a matrix from a column on, or nil.
func part(matrix []float32, from int) []float32 {
	if matrix == nil {
		return nil
	}
	return matrix[from:]
}
