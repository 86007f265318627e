package emit

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Vectors are the registers of a level.
type Vectors struct {
	Level string
	One   func() VecVirtual
	Bytes int
}

var Narrow, Wide = Vectors{"AVX2", YMM, 32}, Vectors{"AVX512", ZMM, 64}

// Wide reports registers of 64 bytes.
func (r Vectors) Wide() bool { return r.Bytes == 64 }

// Chunk returns registers for 32 numbers.
func (r Vectors) Chunk() (x []VecVirtual) {
	for range 128 / r.Bytes {
		x = append(x, r.One())
	}
	return x
}

// At returns the memory of register i of a chunk.
func (r Vectors) At(base Register, i int) Mem { return Mem{Base: base, Disp: r.Bytes * i} }

// All returns a dword in all lanes.
func (r Vectors) All(v uint32) VecVirtual { return Into(r.One(), VPBROADCASTD, Dwords(v)) }

// Same returns memory with a dword in all lanes.
func (r Vectors) Same(v uint32) Mem { return Data(repeated(r.Bytes, 4, []uint32{v})) }

// Doubled multiplies the numbers of a register by two registers of doubles: a product of
// two float32 is exact in float64.
func (r Vectors) Doubled(m Mem, by func(i int) Op, x VecVirtual) {
	var half [2]VecVirtual
	for i := range half {
		y := Into(r.One(), VCVTPS2PD, m.Offset(r.Bytes/2*i))
		if VMULPD(by(i), y, y); r.Wide() {
			half[i] = Into(YMM(), VCVTPD2PS, y)
		} else {
			half[i] = Into(XMM(), VCVTPD2PSY, y)
		}
	}
	if r.Wide() {
		VINSERTF64X4(Imm(1), half[1], half[0].AsZ(), x)
	} else {
		VINSERTF128(Imm(1), half[1], half[0].AsY(), x)
	}
}

// A Halves finds by bisection how many of fifteen bounds are before a number, with a
// predicate of VCMPPS.
type Halves struct {
	Vectors
	predicate                        Op
	third, fourth, middle, low, high Op // tables of eight, which run backwards, and bounds
	steps                            [4]VecVirtual
}

// Halves loads tables and bounds into registers, if hold is set or the registers are wide.
func (r Vectors) Halves(predicate uint64, hold bool, third, fourth, middle, low, high Mem) *Halves {
	h := &Halves{r, Imm(predicate), third, fourth, middle, low, high, [4]VecVirtual{}}
	if !hold && !r.Wide() {
		return h
	}
	single := func(m Mem) Op { return Into(r.One(), VBROADCASTSS, m) }
	h.middle, h.low, h.high = single(middle), single(low), single(high)
	if !r.Wide() {
		h.third, h.fourth = Load32(third), Load32(fourth)
		return h
	}
	forwards := func(m Op, step int) VecVirtual {
		x := Into(ZMM(), VBROADCASTF32X8, m)
		VPERMPS(x, Into(ZMM(), VMOVDQU64, Dwords64(func(i int) int { return -(i / step) & 7 })), x)
		return x
	}
	h.third, h.fourth = forwards(third, 4), forwards(fourth, 2)
	for i := range h.steps {
		h.steps[i] = r.All(8 >> i)
	}
	return h
}

// Count returns how many bounds are before those of x (negated in narrow registers), and
// whether it is eight or more. The count so far is the index of the next bound:
// comparisons add 8, 4, 2 and 1, or subtract one from twice the count.
func (h *Halves) Count(x VecVirtual) (n, upper VecVirtual) {
	bound := h.One()
	if h.Wide() {
		before := func(bound Op) OpmaskVirtual { return Into(K(), VCMPPS, h.predicate, bound, x) }
		k := before(h.middle)
		n = Into(ZMM(), VMOVDQA32_Z, h.steps[0], k)
		VBLENDMPS(h.high, h.low, k, bound)
		for j, next := range []Op{h.third, h.fourth, nil} {
			VPADDD(h.steps[j+1], n, before(bound), n)
			if next != nil {
				VPERMPS(next, n, bound)
			}
		}
		return n, nil
	}
	before := func(bound Op) VecVirtual { return Into(YMM(), VCMPPS, h.predicate, bound, x) }
	upper = before(h.middle)
	low := h.low
	if m, ok := low.(Mem); ok {
		low = Load32(m)
	}
	VBLENDVPS(upper, h.high, low, bound)
	n = upper
	for _, next := range []Op{h.third, h.fourth, nil} {
		m, twice := before(bound), YMM()
		VPADDD(n, n, twice)
		VPADDD(m, twice, twice)
		if n = twice; next != nil {
			VPERMPS(next, n, bound)
		}
	}
	return n, upper
}
