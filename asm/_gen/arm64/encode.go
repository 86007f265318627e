package main

import "fmt"

// The assembler knows no arithmetic on vectors of floats: these are the words
// of the instructions, from the Arm Architecture Reference Manual, DDI 0487.

func (g *gen) word(w uint32, text string, args ...any) {
	g.op("WORD $%#08x // %s", w, fmt.Sprintf(text, args...))
}

func (g *gen) two(base uint32, name string, d, n int) {
	g.word(base|uint32(n)<<5|uint32(d), "%s V%d, V%d", name, d, n)
}

func (g *gen) three(base uint32, name string, d, n, m int) {
	g.word(base|uint32(m)<<16|uint32(n)<<5|uint32(d), "%s V%d, V%d, V%d", name, d, n, m)
}

// Widening the lower and the upper half of signed bytes and words.
func (g *gen) sxtlB(d, n int)  { g.two(0x0F08A400, "SXTL.8H", d, n) }
func (g *gen) sxtl2B(d, n int) { g.two(0x4F08A400, "SXTL2.8H", d, n) }
func (g *gen) sxtlH(d, n int)  { g.two(0x0F10A400, "SXTL.4S", d, n) }
func (g *gen) sxtl2H(d, n int) { g.two(0x4F10A400, "SXTL2.4S", d, n) }

func (g *gen) scvtf(d, n int)  { g.two(0x4E21D800, "SCVTF.4S", d, n) }
func (g *gen) fcvtl(d, n int)  { g.two(0x0E217800, "FCVTL.4S", d, n) }
func (g *gen) fcvtl2(d, n int) { g.two(0x4E217800, "FCVTL2.4S", d, n) }

func (g *gen) fmul(d, n, m int)  { g.three(0x6E20DC00, "FMUL.4S", d, n, m) }
func (g *gen) fsub(d, n, m int)  { g.three(0x4EA0D400, "FSUB.4S", d, n, m) }
func (g *gen) fcmeq(d, n, m int) { g.three(0x4E20E400, "FCMEQ.4S", d, n, m) }
func (g *gen) bif(d, n, m int)   { g.three(0x6EE01C00, "BIF.16B", d, n, m) }

// The upper halves of dwords, to the lower and the upper half of a register.
func (g *gen) shrn16(d, n int)   { g.two(0x0F108400, "SHRN.4H #16", d, n) }
func (g *gen) shrn2x16(d, n int) { g.two(0x4F108400, "SHRN2.8H #16", d, n) }
