package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// zoddKernel is runs of small floats to BF16 under any scale, for those that
// [zmantissaKernel] does not serve, and for long ones. Each run gets a table of what
// all codes without a sign come to, by as many products.
//
// Under a scale that is small, products may be subnormal. Intel's processors wait
// long for instructions that make such numbers, or take them, and none here does:
// the scale is 2^128 times what it is. From the least code on whose product is normal
// nothing is added to products, and the sum is right but for its exponent; to the
// others 4 is added, of which the last bit then is that of subnormal numbers. Numbers
// have no sign at first, and NaN has one, as infinity times zero has; what is taken off
// words turns both.
//
// The table of a format is those 128 numbers, the even codes below 64 first, then
// the odd ones, then the others; which of the words of those others are neither
// infinite nor NaN, for even and odd codes; then a few dwords.
func zoddKernel() {
	name := "float8OddAVX512"
	if short {
		name += "BF16"
	}
	function(name, "func(dst *byte, src *byte, a *float32, table *byte, list *byte, chunks int, n int, least int) int", "decodes runs of chunks of 32 codes, at most n, at least so many of any scale and then up to the first that the other kernel serves, and returns how many.")
	z := &zkernel{short: short, dst: Load(Param("dst"), GP64()), src: Load(Param("src"), GP64())}
	weave, ways := newWoven(), 2
	if !short {
		ways = 4
	}
	o := &zodd{a: Load(Param("a"), GP64()), table: Mem{Base: Load(Param("table"), GP64())}, list: Load(Param("list"), GP64())}
	o.zfound = newFound(o.single(7))
	finite := [2]OpmaskVirtual{K(), K()}
	others := [2]OpmaskVirtual{K(), K()}
	for i, k := range finite {
		KMOVD(o.single(i), k)
		KNOTD(k, others[i])
	}
	lower := all(0x00FF00FF)
	order := zload(bytes64(func(i int) int { return int(uint64(i/8%2*4+i/16) >> (i % 8 * 8)) }))
	nanUpper := all(0x7F7F7F7F)
	left := Load(Param("n"), GP64())
	room := AllocLocal(64*zoddRows + 64)

	Label("group")
	o.unlessOrdinary(left)
	some, runs := o.sixteen(left)
	row := lined(room)
	o.prepare(some, row)
	ADDQ(Imm(64), o.a)

	Label("run")
	times, turn := ZMM(), ZMM()
	VPBROADCASTD(row, times)
	VPBROADCASTD(row.Offset(64), turn)
	var sums [4]Mem
	var less [2]Mem
	for i := range ways {
		sums[i] = Mem{Base: o.list, Index: GP64(), Scale: 1, Disp: 4 * 64}
		MOVLQSX(row.Offset(64*(4+i)), sums[i].Index)
	}
	for i := range less {
		less[i] = Mem{Base: o.list, Index: GP64(), Scale: 1, Disp: zoddWords + 2*64}
		MOVLQSX(row.Offset(64*(2+i)), less[i].Index)
	}
	var upper, low zhalfPlane
	for half := range 2 {
		w := [2]VecVirtual{}
		for i := range w { // of even codes, and of odd ones
			x := [2]VecVirtual{ZMM(), ZMM()}
			for j, x := range x {
				VMOVUPS(o.table.Offset(256*half+128*i+64*j), x)
				sum := sums[i+2*j].Offset(64 * half)
				if short {
					sum = sums[i].Offset(128*half + 64*j)
				}
				VFMADD213PS(sum, times, x)
			}
			if short {
				w[i] = shortened(x[0], x[1])
			} else {
				w[i] = weave.woven(x[0], x[1])
			}
			less := less[i].Offset(64 * half)
			if half == 0 {
				VPSUBW(less, w[i], w[i])
			} else {
				VPSUBW(less, w[i], finite[i], w[i])
				VPSUBW(weave.tops, w[i], others[i], w[i])
			}
		}
		low[half], upper[half] = ZMM(), ZMM()
		VPSLLW(Imm(8), w[1], low[half])
		VPSRLW(Imm(8), w[0], upper[half])
		VPTERNLOGD(Imm(orAnd), lower, w[0], low[half])
		VPTERNLOGD(Imm(orAndNot), lower, w[1], upper[half])
	}
	chunks := Load(Param("chunks"), GP64())
	write := func(n int) func() {
		return func() {
			p, q := o.find(ordered(n, z.from(0), order, VPERMQ), low, upper, nanUpper, andOrNot, func(codes VecVirtual) { VPXORD(turn, codes, codes) }, fmt.Sprint("found", n))
			for i, unpack := range []func(...Op){VPUNPCKLBW, VPUNPCKHBW}[:n/32] {
				x := ZMM()
				unpack(q, p, x)
				VMOVDQU64(x, z.to(32*i))
			}
		}
	}
	zpairs(z, "", chunks, 32, 32, write(64), write(32))
	ADDQ(Imm(4), row.Base)
	DECQ(runs)
	JNZ(LabelRef("run"))
	TESTQ(left, left)
	JNZ(LabelRef("group"))

	stopped(left)
}

// A zodd is runs of any scale. What they take of their scales is made for sixteen
// at a time.
type zodd struct {
	zfound
	a     Register
	table Mem
	list  Register // of additions
}

// single is the i-th of a table's dwords behind the numbers.
func (o *zodd) single(i int) Mem { return o.table.Offset(4*128 + 4*i) }

// zoddWords is where the list has what is taken off: see float8Additions.
const zoddWords = 16 * 512

// unlessOrdinary stops where the other kernel serves the first of the runs that are
// left, if there were enough.
func (o *zodd) unlessOrdinary(left Register) {
	exponent, enough := GP32(), Load(Param("n"), GP64())
	MOVL(Mem{Base: o.a}, exponent)
	and32(exponent, 0x7F800000)
	SUBL(o.single(2), exponent)
	CMPL(exponent, o.single(3))
	JHI(LabelRef("odd"))
	least, err := Param("least").Resolve()
	if err != nil {
		panic(err)
	}
	SUBQ(least.Addr, enough)
	CMPQ(left, enough)
	JLE(LabelRef("stop"))
	Label("odd")
}

// sixteen takes so many runs, or what is left, and is a mask of them.
func (o *zodd) sixteen(left Register) (some OpmaskVirtual, runs GPVirtual) {
	runs, some = GP64(), K()
	most, bits := GP64(), GP32()
	MOVQ(left, runs)
	MOVQ(U32(16), most)
	CMPQ(left, most)
	CMOVQGT(most, runs)
	SUBQ(runs, left)
	MOVL(U32(0xFFFF), bits)
	BZHIL(runs.As32(), bits, bits)
	KMOVW(bits, some)
	return some, runs
}

// lined is the first line of the cache in local memory.
func lined(room Mem) Mem {
	m := Mem{Base: GP64()}
	LEAQ(room.Offset(63), m.Base)
	ANDQ(I8(-64), m.Base)
	return m
}

// stopped returns how many runs are done.
func stopped(left Register) {
	Label("stop")
	done := Load(Param("n"), GP64())
	SUBQ(left, done)
	Store(done, ReturnIndex(0))
	end()
}

// zoddRows is how many rows of sixteen dwords a run needs: its scale without the
// sign, 2^128 times what it is where it is small; the sign, for codes; where the list
// has what is taken off, for even codes and odd ones; and where what is added.
const zoddRows = 8

// sizes is some of the sixteen scales at a without their sign, 2^128 times what they are
// where they are small; all bits of the sign; and which are NaN.
func (o *zodd) sizes(some OpmaskVirtual) (size, sign VecVirtual, small, nan OpmaskVirtual) {
	scale, x, large := ZMM(), ZMM(), ZMM()
	size, sign, small, nan = ZMM(), ZMM(), K(), K()
	VMOVDQU32_Z(Mem{Base: o.a}, some, scale)
	VPSRAD(Imm(31), scale, sign)
	VPANDD_BCST(dwords(0x7FFFFFFF), scale, size)
	// A subnormal number is counted.
	normal := K()
	VPSUBD_BCST(dwords(1), size, x)
	VPCMPUD_BCST(Imm(1), o.single(8), x, small)
	VPCMPUD_BCST(Imm(6), dwords(0x007FFFFF), size, normal)
	VCVTDQ2PS(size, large)
	VPSUBD_BCST(dwords((149-128)<<23), large, large)
	VPADDD_BCST(dwords(128<<23), size, normal, large)
	VPCMPUD_BCST(Imm(6), dwords(0x7F800000), size, nan)
	VMOVDQA32(large, small, size)
	return size, sign, small, nan
}

// prepare fills rows for some of the sixteen scales at a.
func (o *zodd) prepare(some OpmaskVirtual, rows Mem) {
	store := func(i int, x VecVirtual) { VMOVDQU32(x, rows.Offset(64*i)) }
	size, sign, small, nan := o.sizes(some)
	VPBROADCASTD(dwords(0xFFC00000), nan, size)
	store(0, size)
	VPANDD(o.sign, sign, sign)
	store(1, sign)
	// The quotient, rounded up, is a code, rounded up. Below the first exponent codes
	// are of equal distance, as they are above it once that number is added.
	code, low, below := ZMM(), ZMM(), K()
	four, divisor := zsingle(floats(4)), ZMM()
	VMOVAPS(four, divisor)
	VMOVDQA32(size, small, divisor)
	VDIVPS_RU_SAE(divisor, four, code)
	VADDPS_RU_SAE(zsingle(o.single(6)), code, low)
	VPSUBD_BCST(o.single(4), code, code)
	VPCMPD_BCST(Imm(1), dwords(1<<23), code, below)
	VPSUBD_BCST(o.single(6), low, below, code)
	VPADDD_BCST(o.single(9), code, code)
	places := zsingle(o.single(5))
	VPSRLVD(places, code, code)
	VPMINUD_BCST(dwords(128), code, code)
	VMOVDQA32_Z(code, small, code)
	// As many codes are below it as the part of it that is their share, rounded up: a half,
	// and to numbers whose words take turns a quarter.
	for i := range 2 {
		at := zsingle(dwords(32*256 - 2*64))
		VMOVDQA32(listed(shareOf(code, i, 1), 5, 8), small, at)
		store(2+i, at)
		if short {
			store(4+i, listed(shareOf(code, i, 1), 4, 9))
			continue
		}
		store(4+i, listed(shareOf(code, i, 2), 4, 9))
		store(6+i, listed(shareOf(code, i+2, 2), 4, 9))
	}
}

// shareOf is how many of the codes that are i, divided by a power of two, are below.
func shareOf(code VecVirtual, i int, power uint64) VecVirtual {
	x := ZMM()
	VPADDD_BCST(dwords(uint32(1<<power-1-i)), code, x)
	VPSRLD(Imm(power), x, x)
	return x
}

// listed is where the list has rows for so many codes: as many rows as codes have
// one register, of so many bytes, and 64 bytes less for each register.
func listed(codes VecVirtual, register, row uint64) VecVirtual {
	x, y := ZMM(), ZMM()
	VPSRLD(Imm(register), codes, y)
	VPANDD_BCST(dwords(1<<register-1), codes, x)
	VPSLLD(Imm(row), x, x)
	VPSLLD(Imm(6), y, y)
	VPSUBD(y, x, x)
	return x
}
