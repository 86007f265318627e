package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A zlayout is one block type in registers of 64 bytes: as layout, with the
// sign that its numbers have before they are stored.
type zlayout struct {
	name  string
	elems int
	bytes int
	sign  sign
	set   func(*zkernel)
	block func(*zkernel)
}

func zblockKernels() {
	for _, l := range zlayouts() {
		for t := range targets {
			zblockKernel(l, t)
		}
	}
}

func zlayouts() []zlayout {
	return []zlayout{
		zbytesLayout("q8_0", 32, 34, 2, zhalf),
		zbytesLayout("q8_1", 32, 36, 4, zhalf),
		zbytesLayout("q8_K", 256, 292, 4, zsingle),
	}
}

func zblockKernel(l zlayout, t int) {
	z := zbegin(l.name, t, ", n int", "decodes n blocks.", l.sign)
	n := Load(Param("n"), GP64())
	if l.set != nil {
		l.set(z)
	}
	Label("block")
	l.block(z)
	ADDQ(U32(l.bytes), z.src)
	ADDQ(U32(l.elems*z.width()), z.dst)
	DECQ(n)
	JNZ(LabelRef("block"))
	zend()
}

// zbytesLayout is signed bytes under one scale per block.
func zbytesLayout(name string, elems, bytes, off int, scale func(Mem) VecVirtual) zlayout {
	return zlayout{name, elems, bytes, minus, nil, func(z *zkernel) {
		d := scale(z.from(0))
		z.settled(d)
		for at := 0; at < elems; at += 32 {
			a, b := zsigned(z.from(off+at)), zsigned(z.from(off+at+16))
			zfloats(a, b)
			z.scaled(at, a, b, d, d)
		}
	}}
}

// scaled writes 32 numbers times their scales.
func (z *zkernel) scaled(at int, a, b, first, second VecVirtual) {
	VMULPS(first, a, a)
	VMULPS(second, b, b)
	z.put(at, a, b)
}
