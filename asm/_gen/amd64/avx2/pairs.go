package avx2

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A pairLoop is nibbles of a codebook in runs of sixteen, the low one first: chunks of two runs.
type pairLoop struct {
	codebook
	d      [2]VecVirtual // the scales, negated
	tables [2]tables16   // but to F32
	x      [4]VecVirtual // the numbers, to F32
	write  Place         // where numbers are written
}

func pairKernels() {
	for t := range Targets {
		pairKernel(t)
	}
}

func pairKernel(t int) {
	p := &pairLoop{codebook: codebook{o: ops[0], codes: func(k *runs) VecVirtual { return k.nibblePairs(false) }}}
	runKernel("pairs[%s][0]", "codebookPairs", ops[0].formula("codebook[q]"), ", codebook *float32", "decodes n pairs of runs of 16 nibbles; there is one chunk.", t, true, 16, 32,
		func(k *runs) {
			p.runs, p.write = k, NewLabel("write")
			p.setCodebook(Load(Param("codebook"), GP64()).(Register))
			if k.float32() {
				p.table = k.planes(Load32(p.v.a), Load32(p.v.b))
			}
			k.rare = p.exactPair
		},
		func(*runs) {},
		func(*runs) {
			for i := range p.d {
				ifBelow(Mem{Base: p.a, Disp: 4 * i}, p.least, p.exact)
			}
			p.d = p.negatedPair()
			p.numbers(func(i int, x VecVirtual) { VMULPS(p.d[i], x, x) })
			p.write.Here()
			if p.float32() {
				for i, x := range p.x {
					VMOVUPS(x, p.to(8*i))
				}
			} else {
				p.lookupTwo(0, p.codes(p.runs), p.tables[0], p.tables[1])
			}
			ADDQ(Imm(4), p.a)
		})
}

// negatedPair is both scales, negated.
func (p *pairLoop) negatedPair() [2]VecVirtual {
	both := Into(YMM(), VPBROADCASTQ, Mem{Base: p.a})
	flipSign(both)
	return [2]VecVirtual{firsts(both), seconds(both)}
}

// numbers makes the numbers of both runs, or their tables: join multiplies by the scale of
// run i.
func (p *pairLoop) numbers(join func(i int, x VecVirtual)) {
	if p.float32() {
		x := [4]VecVirtual(p.numbersAt(p.codes(p.runs), p.table))
		for i, y := range x {
			join(i/2, y)
			p.settle(y, true)
		}
		if p.x[0] == nil {
			p.x = x
		} else {
			carry(p.x[:], x[:])
		}
		return
	}
	for i := range p.d {
		l := p.table16(p.v, true, func(x VecVirtual) { join(i, x) })
		if p.tables[i] == nil {
			p.tables[i] = l
		} else {
			carry(p.tables[i], l)
		}
	}
}

// exactPair is two runs of which one is not ordinary.
func (p *pairLoop) exactPair() {
	p.exact.Here()
	Comment("A run that is not ordinary.")
	d := p.negatedPair()
	for _, x := range d {
		VCVTPS2PD(x.AsX(), x)
	}
	p.numbers(func(i int, x VecVirtual) { p.o.exactly(pair{d: d[i]}, x) })
	JMP(p.write.Ref())
}
