package grids

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/zmm"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A grid is what the rows of a grid are made of: four values, or eight, which
// are codes of two bits or three of its bytes. To words a block has tables of
// what they come to under its scales, 32 words each.
type grid struct {
	values []float32
	per    int    // elements of a scale
	down   int    // how far a byte is moved down so that its code stands from bit 1 on; it is up by one where this is below zero
	codes  uint32 // the bits of a code there
}

var (
	grid1S   = grid{ternaryValues, 32, -1, 0x0E}
	grid1M   = grid{ternaryValues, 16, -1, 0x0E}
	grid2XXS = grid{rows2Values, 32, 3, 0x06}
	grid2XS  = grid{rows2Values, 16, 3, 0x06}
	grid2S   = grid{rows2Values, 16, 3, 0x06}
	grid3XXS = grid{[]float32{4, 12, 20, 28, 36, 44, 52, 62}, 32, 0, 0x0E}
	grid3S   = grid{[]float32{1, 3, 5, 7, 9, 11, 13, 15}, 32, 0, 0x0E}
	// The bytes 0, 1 and -1 times eight and one more; then with the third bit of
	// the code flipped, one less. Of -1 it is set.
	ternaryValues = []float32{1, 9, 0, -9, -1, 7, 0, -7}
	rows2Values   = []float32{8, 25, 43, 0}
)

// A kernel keeps what the codes of its grid take.
type kernel struct {
	*Kernel
	grid
	mask   VecVirtual    // the bits of codes
	halves [2]VecVirtual // the first 32 of 64 bytes, two times each, and the others
	third  VecVirtual    // the third bit of codes
	negate VecVirtual
}

// of is a block of rows of a grid.
func of(g grid, decode func(*kernel)) func(*Kernel) func() {
	return func(k *Kernel) func() {
		z := &kernel{Kernel: k, grid: g}
		if z.Words() {
			z.mask = All(g.codes * 0x01010101)
			if g.down != 0 {
				for i := range z.halves {
					z.halves[i] = Load64(Bytes64(func(j int) int { return 32*i + j/2 }))
				}
			}
			if g.down < 0 {
				z.third = All(0x08080808)
			} else {
				z.negate = All(0x80008000)
			}
		}
		return func() { decode(z) }
	}
}

// tables is what the values come to under the scales of a block.
func (z *kernel) tables(s VecVirtual) (out []Table) {
	var again [16]float32
	for i := range again {
		again[i] = z.values[i%len(z.values)]
	}
	each := 16 / len(z.values)
	number := func(first int) VecVirtual {
		x := Into(ZMM(), VPERMD, s, DwordsOf(func(i int) int { return first + i/len(z.values) }))
		VMULPS(Floats64(again), x, x)
		return x
	}
	for i := 0; i < 256/z.per; i += 2 * each {
		out = append(out, z.Table32(number(i), number(i+each)))
	}
	return out
}

// write writes a block of rows: words gives the codes of each 32 elements, in
// both bytes of a word. Above a code is put the number of its scale in its table.
// Numbers are negative where a bit is set.
func (z *kernel) write(words func(r int) VecVirtual, s VecVirtual, signs *Mem) {
	Comment("Tables under the scales.")
	tables, each := z.tables(s), 32/len(z.values)
	Comment("Codes of rows, 32 at a time.")
	for r := range 8 {
		x := words(r)
		VPTERNLOGD(Imm(AndOr), Words64(func(i int) int {
			return 0x0100 + (32*r+i)/z.per%each*2*len(z.values)*0x0101
		}), z.mask, x)
		VPERMB(tables[r*len(tables)/8][0], x, x)
		if signs != nil {
			z.negated(x, signs.Offset(4*r))
		}
		VMOVDQU64(x, z.To(32*r))
	}
}

// doubled is the words of rows of eight bytes, which are changed first.
func (z *kernel) doubled(rows gridCodes, change func(j int, codes VecVirtual)) func(r int) VecVirtual {
	var codes VecVirtual
	return func(r int) VecVirtual {
		if r%2 == 0 {
			codes, _ = rows(r / 2)
			if z.down > 0 {
				VPSRLW(Imm(uint64(z.down)), codes, codes)
			} else {
				VPADDB(codes, codes, codes)
			}
			if change != nil {
				change(r/2, codes)
			}
		}
		return Into(ZMM(), VPERMB, codes, z.halves[r%2])
	}
}

// negated gives words the other sign where their bit is set.
func (z *kernel) negated(x VecVirtual, signs Mem) {
	k := Into(K(), KMOVD, signs)
	VPADDW(z.negate, x, k, x)
}
