package asm

import "math"

// A codesRule says how kernels turn a block's numbers into codes and where they store
// them: top, -1/top, the largest code in four bytes, and the position of the codes' low
// bits.
type codesRule [4]uint32

// codesRuleOf returns a rule. top is half the number of codes, or the largest code.
func codesRuleOf(top float32, largest, at uint32) *codesRule {
	return &codesRule{math.Float32bits(top), math.Float32bits(-1 / top), largest * 0x01010101, at}
}

// Q5_1 alone has no largest code: a byte's is.
var (
	ruleQ5_0 = codesRuleOf(16, 31, 6)
	ruleQ4_1 = codesRuleOf(15, 15, 4)
	ruleQ5_1 = codesRuleOf(31, 127, 8)
)

// by returns a kernel that applies the rule.
func (r *codesRule) by(kernel func(dst *byte, src *float32, rule *uint32, n int)) rowKernel {
	return func(dst *byte, src *float32, n int) { kernel(dst, src, &r[0], n) }
}
