package grids

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/zmm"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A gridCodes gives each quarter of a block, 64 bytes, once and in order, and
// memory for it.
type gridCodes func(quarter int) (codes VecVirtual, way Mem)

// rows8Of is rows of eight bytes, whose indices are bytes of x: those of row i are
// size many at at(i). Rows that are loaded one by one and joined in memory would
// be read back before they are there.
func (z *kernel) rows8Of(grid string, x VecVirtual, size int, at func(i int) int) gridCodes {
	base := Address(grid)
	return func(j int) (VecVirtual, Mem) {
		index, rows, low, each := ZMM(), ZMM(), MaskOf(0x0101010101010101*uint64(1<<size-1)), K()
		VPERMB_Z(x, Load64(Bytes64(func(i int) int { return at(8*j+i/8) + i%8%size })), low, index)
		KXNORB(low, low, each)
		VPXORD(rows, rows, rows)
		VPGATHERQQ(Mem{Base: base, Index: index, Scale: 8}, each, rows)
		return rows, z.Room(64)
	}
}

// A planes is bytes of a grid's rows, size of each, in planes: the first bytes of
// all rows come first. One register has all indices of a block, and upper has
// those above 255 if there are 512 rows.
type planes struct {
	base  Register
	size  int
	index VecVirtual
	high  OpmaskVirtual
	upper OpmaskVirtual
}

func planesOf(name string, index VecVirtual, upper OpmaskVirtual) *planes {
	p := &planes{Address(name), 256, index, K(), upper}
	if upper != nil {
		p.size = 512
	}
	VPMOVB2M(index, p.high)
	return p
}

// plane is the i-th bytes of the rows of a block.
func (p *planes) plane(i int) VecVirtual {
	half := func(at int) VecVirtual {
		m := Mem{Base: p.base, Disp: at}
		x := Into(ZMM(), VMOVDQA64, p.index)
		VPERMI2B(m.Offset(64), Load64(m), x)
		y := Into(ZMM(), VMOVDQA64, p.index)
		VPERMI2B(m.Offset(192), Load64(m.Offset(128)), y)
		VMOVDQU8(y, p.high, x)
		return x
	}
	x := half(i * p.size)
	if p.upper != nil {
		VMOVDQU8(half(i*p.size+256), p.upper, x)
	}
	return x
}

// rows4Of is rows of four bytes.
func (z *kernel) rows4Of(planes string, index VecVirtual, upper OpmaskVirtual) gridCodes {
	// Unpacking, which works within quarters, gives the rows their order.
	order := DwordsOf(func(i int) int { return i%4*4 + i/4 })
	VPERMD(index, order, index)
	if upper != nil {
		x := Into(ZMM(), VPMOVM2B, upper)
		VPERMD(x, order, x)
		VPMOVB2M(x, upper)
	}
	found := planesOf(planes, index, upper)
	var p, out [4]VecVirtual
	for i := range p {
		p[i], out[i] = found.plane(i), ZMM()
	}
	a := Into(ZMM(), VPUNPCKLBW, p[1], p[0])
	b := Into(ZMM(), VPUNPCKHBW, p[1], p[0])
	c := Into(ZMM(), VPUNPCKLBW, p[3], p[2])
	d := Into(ZMM(), VPUNPCKHBW, p[3], p[2])
	VPUNPCKLWD(c, a, out[0])
	VPUNPCKHWD(c, a, out[1])
	VPUNPCKLWD(d, b, out[2])
	VPUNPCKHWD(d, b, out[3])
	return func(j int) (VecVirtual, Mem) { return out[j], z.Room(64) }
}

// rows3 writes a block of rows of four numbers of three bits, whose 64 indices
// stand at 2: to words by pairs of codes in a byte.
func (z *kernel) rows3(grid string, upper OpmaskVirtual, signs Mem, s VecVirtual) {
	index := Load64(z.From(2))
	if !z.Words() {
		z.signed(z.rows4Of(grid+"Planes", index, upper), signs, s)
		return
	}
	p := planesOf(grid+"Pairs", index, upper)
	first, second := p.plane(0), p.plane(1)
	halves := [2]VecVirtual{ZMM(), ZMM()}
	VPUNPCKLBW(second, first, halves[0])
	VPUNPCKHBW(second, first, halves[1])
	z.write(func(r int) VecVirtual {
		// Two bytes a row, eight rows of a quarter.
		x := Into(ZMM(), VPERMB, halves[r%2], Load64(Bytes64(func(i int) int { return r/2*16 + i/8*2 + i/4%2 })))
		VPSRLVW(Words64(func(i int) int { return i % 2 * 4 }), x, x)
		return x
	}, s, &signs)
}
