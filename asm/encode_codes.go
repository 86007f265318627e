package asm

import (
	"math"
	"unsafe"
)

// A codesRule is how the numbers of a group become codes of a byte, and how these are packed.
type codesRule struct {
	kernel     [3]uint32 // as kernels read it: top, -1/top, and the largest code in four bytes
	head, size int       // of the scales, and of a block
	fifth      bool      // codes have five bits
}

// codesRuleOf: top is half of the codes, or the largest one.
func codesRuleOf(top float32, largest uint32, head, size int, fifth bool) codesRule {
	return codesRule{[3]uint32{math.Float32bits(top), math.Float32bits(-1 / top), largest * 0x01010101}, head, size, fifth}
}

// Q5_1 alone has no largest code: a byte's is.
var (
	ruleQ5_0 = codesRuleOf(16, 31, 2, 22, true)
	ruleQ4_1 = codesRuleOf(15, 15, 4, 20, false)
	ruleQ5_1 = codesRuleOf(31, 127, 4, 24, true)
)

// packed is a kernel of blocks by one that writes, for each of n groups of 32 numbers, its scales and
// a byte for each code.
func (r *codesRule) packed(kernel func(dst *byte, src *float32, rule *uint32, n int)) rowKernel {
	return func(dst *byte, src *float32, n int) {
		room := searches.Get().(*searched)
		defer searches.Put(room)
		out, x := unsafe.Slice(dst, n*r.size), unsafe.Slice(src, 32*n)
		for n > 0 {
			some := min(n, len(room.codes)/(r.head+32))
			kernel(&room.codes[0], &x[0], &r.kernel[0], some)
			codes := room.codes[:]
			for range some {
				p := out[:r.size]
				copy(p, codes[:r.head])
				p, codes = p[r.head:], codes[r.head:]
				if r.fifth {
					fifthBits(p, codes[:32])
					p = p[4:]
				}
				nibbles(p, codes[:32])
				out, codes = out[r.size:], codes[32:]
			}
			x, n = x[32*some:], n-some
		}
	}
}
