package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// halfBytesKernels is a book of sixteen numbers over one nibble of each byte:
// the upper one where shift is 4.
func halfBytesKernels() {
	for t := range targets {
		var v values
		var l looked
		var shift VecVirtual
		var most Register
		o := op{"Shift", true}
		runKernel("halfBytesShift", ", book *float32, shift *uint64", "decodes n runs of chunks of 32 bytes, a nibble of each.", t, true, 32, 32,
			func(k *runs) {
				v = k.arrange(Mem{Base: Load(Param("book"), GP64())}, AllocLocal(64))
				shift = XMM()
				VMOVQ(Mem{Base: Load(Param("shift"), GP64())}, shift)
				k.declare("low", func(y VecVirtual) { VMOVDQU(bytes32(0x0F), y) })
				most = numbersInBounds(load(v.a), load(v.b))
			},
			func(k *runs) {
				p := pair{YMM(), YMM()}
				joined := joinedBook{k, o, p, most}
				joined.ifOdd()
				k.numbersInto(o, p)
				l = k.table16(v, true, func(x VecVirtual) { o.join(p, x) })
				k.rare = func() {
					write := func(_ string, join func(x VecVirtual)) {
						carry(l, k.table16(v, true, join))
						JMP(LabelRef("chunk"))
					}
					joined.odd("", write, write)
				}
			},
			func(k *runs) {
				codes := YMM()
				if k.float32() {
					VMOVDQU(k.from(0), codes)
					VPERMD(codes, fours(), codes)
				} else {
					k.spreadQuads(k.from(0), codes)
				}
				VPSRLW(shift, codes, codes)
				VPAND(k.shared["low"], codes, codes)
				k.lookup(0, codes, l)
			})
	}
}
