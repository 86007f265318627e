package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A zgrid is what the rows of a grid are made of: four values, or eight, which
// are codes of two bits or three of its bytes. To words a block has tables of
// what they come to under its scales, 32 words each.
type zgrid struct {
	values []float32
	per    int    // elements of a scale
	down   int    // how far a byte is moved down so that its code stands from bit 1 on; it is up by one where this is below zero
	codes  uint32 // the bits of a code there
}

var (
	grid1S   = zgrid{ternaryValues, 32, -1, 0x0E}
	grid1M   = zgrid{ternaryValues, 16, -1, 0x0E}
	grid2XXS = zgrid{rows2Values, 32, 3, 0x06}
	grid2XS  = zgrid{rows2Values, 16, 3, 0x06}
	grid2S   = zgrid{rows2Values, 16, 3, 0x06}
	grid3XXS = zgrid{[]float32{4, 12, 20, 28, 36, 44, 52, 62}, 32, 0, 0x0E}
	grid3S   = zgrid{[]float32{1, 3, 5, 7, 9, 11, 13, 15}, 32, 0, 0x0E}
	// The bytes 0, 1 and -1 times eight and one more; then with the third bit of
	// the code turned around, one less. Of -1 it is set.
	ternaryValues = []float32{1, 9, 0, -9, -1, 7, 0, -7}
	rows2Values   = []float32{8, 25, 43, 0}
)

// setGrid keeps what the codes of a grid take.
func setGrid(g zgrid) func(*zkernel) {
	return func(z *zkernel) {
		if z.float32() {
			return
		}
		z.declare("codes", func() VecVirtual { return all(g.codes * 0x01010101) })
		if g.down != 0 {
			z.declare("first", func() VecVirtual { return zload(bytes64(func(i int) int { return i / 2 })) })
			z.declare("second", func() VecVirtual { return zload(bytes64(func(i int) int { return 32 + i/2 })) })
		}
		if g.down < 0 {
			z.declare("down", func() VecVirtual { return all(0x08080808) })
		} else {
			z.declare("turn", func() VecVirtual { return all(0x80008000) })
		}
	}
}

// tables is what the values come to under the scales of a block.
func (g zgrid) tables(z *zkernel, s VecVirtual) (out []ztable) {
	var again [16]float32
	for i := range again {
		again[i] = g.values[i%len(g.values)]
	}
	each := 16 / len(g.values)
	number := func(first int) VecVirtual {
		x := ZMM()
		VPERMD(s, dwordsOf(func(i int) int { return first + i/len(g.values) }), x)
		VMULPS(floats64(again), x, x)
		return x
	}
	for i := 0; i < 256/g.per; i += 2 * each {
		out = append(out, z.table32(number(i), number(i+each)))
	}
	return out
}

// gridWords writes a block of rows: words gives the codes of each 32 elements, in
// both bytes of a word. Above a code is put the number of its scale in its table.
// Numbers are negative where a bit is set.
func (z *zkernel) gridWords(words func(r int) VecVirtual, g zgrid, s VecVirtual, signs *Mem) {
	tables, each := g.tables(z, s), 32/len(g.values)
	for r := range 8 {
		x := words(r)
		VPTERNLOGD(Imm(andOr), words64(func(i int) int {
			return 0x0100 + (32*r+i)/g.per%each*2*len(g.values)*0x0101
		}), z.shared["codes"], x)
		VPERMB(tables[r*len(tables)/8][0], x, x)
		if signs != nil {
			z.turned(x, signs.Offset(4*r))
		}
		VMOVDQU64(x, z.to(32*r))
	}
}

// doubled is the words of rows of eight bytes, which are changed first.
func (z *zkernel) doubled(rows gridCodes, g zgrid, change func(j int, codes VecVirtual)) func(r int) VecVirtual {
	var codes VecVirtual
	return func(r int) VecVirtual {
		if r%2 == 0 {
			codes, _ = rows(r / 2)
			if g.down > 0 {
				VPSRLW(Imm(uint64(g.down)), codes, codes)
			} else {
				VPADDB(codes, codes, codes)
			}
			if change != nil {
				change(r/2, codes)
			}
		}
		x := ZMM()
		VPERMB(codes, z.shared[[2]string{"first", "second"}[r%2]], x)
		return x
	}
}

// turned gives words the other sign where their bit is set, but for what is NaN.
func (z *zkernel) turned(x VecVirtual, signs Mem) {
	k := K()
	KMOVD(signs, k)
	VPADDW(z.shared["turn"], x, k, x)
}
