package rows

import (
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// What is given to kernels of Q5_0, and of Q4_1 and Q5_1, which differ only in it: the Go type codesRule.
const (
	ruleTop   = 0  // what a scale divides by: half of the codes, or the largest one
	ruleOver  = 4  // 1 over it, negated
	ruleLimit = 8  // the largest code, as four bytes
	ruleAt    = 12 // where the low bits of codes lie in a block
)

// eachCodes writes a kernel of n blocks of 32 numbers, each with some bytes of scales before its codes:
// the fifth bits, over which the low ones are written where codes have four.
func eachCodes(name, doc string, how []string, head int, group func(s small, rule Register) [4]VecVirtual) {
	emit.Frame(name+"AVX2", "func(dst *byte, src *float32, rule *uint32, n int)", doc, how...)
	s, rule := small{Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())}, Load(Param("rule"), GP64())
	limit := emit.Into(YMM(), VPBROADCASTD, Mem{Base: rule, Disp: ruleLimit})
	at := emit.Into(GP32(), MOVL, Mem{Base: rule, Disp: ruleAt})
	emit.Repeat("group", s.n, func() {
		codes := lowBytes(group(s, rule))
		VPMINSB(limit, codes, codes)
		high, bits := emit.Into(YMM(), VPSLLW, Imm(3), codes), GP32()
		VPMOVMSKB(high, bits)
		MOVL(bits, Mem{Base: s.dst, Disp: head})
		VPAND(emit.Bytes32(15), codes, codes)
		ADDQ(at.As64(), s.dst)
		s.putNibbles(codes, 0)
		ADDQ(U32(128), s.src)
		ADDQ(Imm(16), s.dst)
	})
	emit.End()
}

func symmetricCodes() {
	eachCodes("symmetricCodes", "writes n blocks of Q5_0: symmetricCodes.",
		[]string{"For each block: d = the number of largest magnitude/-half, the first of equals;", "code = the integer part of x/d+half+0.5, by its reciprocal;", "dst = d, the fifth bits, nibbles i and i+16 in a byte."}, 2,
		func(s small, rule Register) [4]VecVirtual {
			x := s.numbers(0)
			m := magnitude(x[:]...)
			d := s.first(x, func(y, same VecVirtual) {
				VANDPS(emit.Dwords(0x7FFFFFFF), y, same)
				VPCMPEQD(m, same, same)
			})
			zero, up := YMM(), YMM()
			VXORPS(zero, zero, zero)
			VADDPS(zero, d, d) // zeros are +0
			VBROADCASTSS(Mem{Base: rule, Disp: ruleOver}, up)
			VMULPS(up, d, d)
			s.putHalf(d, 0)
			inverse := reciprocal(d)
			VBROADCASTSS(Mem{Base: rule, Disp: ruleTop}, up)
			VADDPS(emit.Floats(0.5), up, up)
			for _, y := range x {
				VMULPS(inverse, y, y)
				VADDPS(up, y, y)
				VCVTTPS2DQ(y, y)
			}
			return x
		})
}

// affineCodes takes the least number by its place: of zeros the first one's sign counts.
func affineCodes() {
	eachCodes("affineCodes", "writes n blocks of Q4_1 or Q5_1: affineCodes.",
		[]string{"For each block: low = the least number, the first of equals; d = (the largest-low)/top;", "code = the integer part of (x-low)/d+0.5, by the reciprocal;", "dst = d, low, the fifth bits if there are, nibbles i and i+16 in a byte."}, 4,
		func(s small, rule Register) [4]VecVirtual {
			x := s.numbers(0)
			least, most, t, top := value{regs: []VecVirtual{YMM()}}, YMM(), one(), YMM()
			VMINPS(x[1], x[0], least.regs[0])
			VMAXPS(x[1], x[0], most)
			for _, y := range x[2:] {
				VMINPS(y, least.regs[0], least.regs[0])
				VMAXPS(y, most, most)
			}
			across(least, t, VMINPS)
			across(value{regs: []VecVirtual{most}}, t, VMAXPS)
			low := s.first(x, func(y, same VecVirtual) { VCMPPS(Imm(equal), least.regs[0], y, same) })
			s.putHalf(low, 2)
			VSUBPS(low, most, most)
			VXORPS(top, top, top)
			VADDPS(top, most, most) // of zeros +0
			VBROADCASTSS(Mem{Base: rule, Disp: ruleTop}, top)
			VDIVPS(top, most, most)
			s.putHalf(most, 0)
			inverse := reciprocal(most)
			for _, y := range x {
				VSUBPS(low, y, y)
				VMULPS(inverse, y, y)
				VADDPS(emit.Floats(0.5), y, y)
				VCVTTPS2DQ(y, y)
			}
			return x
		})
}

// first is the first number of which same says so, in all lanes.
func (s small) first(x [4]VecVirtual, is func(y, same VecVirtual)) VecVirtual {
	all, bits := GP32(), GP32()
	for i, y := range x {
		same := YMM()
		is(y, same)
		VMOVMSKPS(same, bits)
		if i == 0 {
			MOVL(bits, all)
		} else {
			SHLL(Imm(uint64(8*i)), bits)
			ORL(bits, all)
		}
	}
	TZCNTL(all, all)
	return emit.Into(YMM(), VBROADCASTSS, Mem{Base: s.src, Index: all.As64(), Scale: 4})
}
