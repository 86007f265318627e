package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// halfBytesKernels is a codebook of sixteen numbers over one nibble of each byte:
// the upper one where shift is 4.
func halfBytesKernels() {
	for t := range targets {
		c := &codebook{o: ops[1]}
		shift := XMM()
		runKernel("halfBytes[%s]", "halfBytesShift", ops[1].formula("codebook[q>>shift&15]"), ", codebook *float32, shift *uint64", "decodes n runs of chunks of 32 bytes, a nibble of each.", t, true, 32, 32,
			func(k *runs) {
				c.runs = k
				c.setCodebook(Load(Param("codebook"), GP64()).(Register))
				VMOVQ(Mem{Base: Load(Param("shift"), GP64())}, shift)
			},
			func(*runs) { c.build() },
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
				k.lookup(0, codes, c.table)
			})
	}
}
