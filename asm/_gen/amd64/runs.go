package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A runs kernel takes n runs of codes, each of some chunks, under one scale and
// perhaps a second number each.
type runs struct {
	*kernel
	a, b      Register
	chunks    Register
	in, elems int    // bytes and elements of a chunk
	rare      func() // loops that few runs take, behind all others
}

// An op is what joins a code with its scale and its second number; as in the
// package.
type op struct {
	name   string
	turned bool
}

var ops = []op{{"Scale", true}, {"Shift", true}, {"Affine", false}}

// runKernel writes the loops: scale once per run, chunk for each chunk.
func runKernel(name, params, doc string, t int, turned bool, in, elems int, before func(*runs), run func(*runs), chunk func(*runs)) {
	target := targets[t]
	name += target.name + "AVX2"
	TEXT(name, NOSPLIT, "func(dst *byte, src *byte, a *float32, b *float32"+params+", chunks int, n int)")
	Pragma("noescape")
	Doc(name + " " + doc)
	k := &runs{kernel: &kernel{wide: target.wide, narrow: target.narrow, shared: map[string]VecVirtual{}}, in: in, elems: elems}
	k.dst, k.src = Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	k.a, k.b = Load(Param("a"), GP64()), Load(Param("b"), GP64())
	k.begin(turned)
	if before != nil {
		before(k)
	}
	k.chunks = GP64()
	n := Load(Param("n"), GP64())
	Label("run")
	Load(Param("chunks"), k.chunks)
	run(k)
	Label("chunk")
	chunk(k)
	k.again("chunk")
	Label("done")
	ADDQ(Imm(4), k.a)
	ADDQ(Imm(4), k.b)
	DECQ(n)
	JNZ(LabelRef("run"))
	VZEROUPPER()
	RET()
	if k.rare != nil {
		k.rare()
	}
}

// again ends a loop over the chunks of a run.
func (k *runs) again(label string) {
	ADDQ(U32(k.in), k.src)
	ADDQ(U32(k.elems*k.width()), k.dst)
	DECQ(k.chunks)
	JNZ(LabelRef(label))
}

// numbersOf brings the two numbers of a run into registers, the first negated
// where products are turned.
func (k *runs) numbersOf(o op) pair {
	p := pair{YMM(), YMM()}
	VBROADCASTSS(Mem{Base: k.a}, p.d)
	if o.turned {
		turned(p.d)
	} else {
		quieted(p.d)
	}
	if o.name != "Scale" {
		VBROADCASTSS(Mem{Base: k.b}, p.m)
		if o.turned {
			canonical(p.m)
		} else {
			quieted(p.m)
		}
	}
	return p
}

func (o op) join(p pair, x VecVirtual) {
	o.by(p, x, func() { VMULPS(p.d, x, x) })
}

func (o op) by(p pair, x VecVirtual, product func()) {
	if o.name == "Shift" {
		VSUBPS(p.m, x, x)
	}
	product()
	if o.name == "Affine" {
		VADDPS(p.m, x, x)
	}
}

// join is [op.join] by [kernel.multiplied].
func (k *runs) join(o op, p pair, x VecVirtual) {
	o.by(p, x, func() { k.multiplied(p.d, x) })
}

// bytesKernels is codes of a byte each.
func bytesKernels() {
	for _, o := range append(ops, twice) {
		for t := range targets {
			bytesKernel(o, t)
		}
	}
}

// twice is Scale and a multiplication by the same number for all.
var twice = op{"Twice", true}

// bytesKernel: the codes are turned into signed ones by a mask, and a bias makes
// them again what they were.
func bytesKernel(o op, t int) {
	var p pair
	var mask, last VecVirtual
	var most Op = U32(wholeMost - 1)
	first := o
	if o == twice {
		first = ops[0]
	}
	each := func(k *runs, join func(x VecVirtual)) {
		k.bytes(0, k.from(0), mask, o.turned, func(x VecVirtual) {
			if first.name != "Scale" {
				VADDPS(last, x, x)
			}
			join(x)
		})
	}
	runKernel("bytes"+o.name, ", flip *byte, last *float32", "decodes n runs of chunks of 32 bytes.", t, o.turned, 32, 32,
		func(k *runs) {
			k.minus = load(k.minus.(Mem))
			mask, last = YMM(), YMM()
			flip := Mem{Base: Load(Param("flip"), GP64())}
			VPBROADCASTB(flip, mask)
			if k.wide {
				VPMOVSXBD(mask.AsX(), mask)
			} else {
				VPMOVSXBW(mask.AsX(), mask)
			}
			at := Mem{Base: Load(Param("last"), GP64())}
			VBROADCASTSS(at, last)
			switch o.name {
			case "Shift":
				most = U32(littleMost - 1)
			case "Twice":
				canonical(last)
				most = sane(at)
			}
		},
		func(k *runs) {
			p = k.numbersOf(first)
			k.ifLittle(o, most)
			k.rare = func() {
				Label("little")
				if o.name == "Affine" {
					k.enlarged(p)
				} else if k.narrow && o.name != "Shift" {
					k.flushed(p.d)
				}
				if k.narrow && o.name != "Shift" {
					JMP(LabelRef("chunk"))
					return
				}
				up := smallShift
				if o.name == "Affine" {
					up = 0
				}
				l, half := k.newLittle(p.d, up), YMM()
				VMULPS(floats(0.5), last, half)
				k.raise()
				Label("slowly")
				each(k, func(x VecVirtual) {
					switch o.name {
					case "Twice":
						l.twice(x, last, half)
					case "Affine":
						l.affine(p, x)
					default:
						l.join(o, p, x)
					}
				})
				k.again("slowly")
				JMP(LabelRef("done"))
			}
		},
		func(k *runs) {
			each(k, func(x VecVirtual) {
				k.join(first, p, x)
				if o == twice {
					k.multiplied(last, x)
				}
			})
		})
}

// bookKernels is nibbles that a code book of sixteen numbers explains.
func bookKernels() {
	for _, high := range []bool{false, true} {
		for _, o := range ops {
			if high && o.name != "Scale" {
				continue // nobody stores those
			}
			for t := range targets {
				for _, elems := range []int{32, 64} {
					bookKernel(high, o, t, elems)
				}
			}
		}
	}
}

// pairKernels is nibbles of a book in runs of sixteen: chunks of two runs.
func pairKernels() {
	for t := range targets {
		pairKernel("bookPairs", false, t)
		pairKernel("bookPairsHigh", true, t)
	}
}

func pairKernel(name string, high bool, t int) {
	var v values
	var l looked
	runKernel(name, ", book *float32", "decodes n pairs of runs of 16 nibbles; there is one chunk.", t, true, 16, 32,
		func(k *runs) {
			book, base := AllocLocal(64), Load(Param("book"), GP64())
			v = k.arrange(Mem{Base: base}, book)
			k.declare("low", func(y VecVirtual) { VMOVDQU(bytes32(0x0F), y) })
			if k.float32() {
				l = k.planes(load(v.a), load(v.b))
			}
		},
		func(*runs) {},
		func(k *runs) {
			both, d := YMM(), [2]VecVirtual{YMM(), YMM()}
			VPBROADCASTQ(Mem{Base: k.a}, both)
			turned(both)
			VMOVSLDUP(both, d[0])
			VMOVSHDUP(both, d[1])
			ADDQ(Imm(4), k.a)
			codes := k.nibblePairs(high, 32)[0]
			if k.float32() {
				k.products(0, codes, l, true, func(i int, x VecVirtual) { VMULPS(d[i/2], x, x) })
				return
			}
			k.lookupTwo(0, codes, k.by(v, d[0]), k.by(v, d[1]))
		})
}

// products writes 32 numbers to F32: each is found in a book by its four bytes,
// and then joined with the numbers of its run. i is which eighth of 32 it is.
func (k *runs) products(at int, codes VecVirtual, book looked, turned bool, join func(i int, x VecVirtual)) {
	for i, x := range k.numbersAt(codes, book) {
		join(i, x)
		k.settle(x, turned)
		VMOVUPS(x, k.to(at+8*i))
	}
}

func bookKernel(high bool, o op, t int, elems int) {
	name := map[bool]string{false: "bookLow", true: "bookHigh"}[high] + o.name + map[int]string{32: "32", 64: "64"}[elems]
	var v values
	var l looked
	var p pair
	var most Register
	each := func(k *runs, join func(x VecVirtual)) {
		k.products(0, k.nibblePairs(high, elems)[0], l, o.turned, func(_ int, x VecVirtual) { join(x) })
	}
	runKernel(name, ", book *float32", "decodes n runs of chunks of that many nibbles.", t, o.turned, elems/2, elems,
		func(k *runs) {
			if o.name == "Scale" || !k.wide { // there is a register left
				k.minus = load(k.minus.(Mem))
			}
			book, base := AllocLocal(64), Load(Param("book"), GP64())
			v = k.arrange(Mem{Base: base}, book)
			k.declare("low", func(y VecVirtual) { VMOVDQU(bytes32(0x0F), y) })
			most = numbersInBounds(load(v.a), load(v.b))
			if k.float32() && elems == 32 { // a table for so few costs more than the products
				l = k.planes(load(v.a), load(v.b))
			}
		},
		func(k *runs) {
			p = k.numbersOf(o)
			k.ifLittle(o, most)
			k.rare = func() {
				Label("little")
				if k.narrow && o.name == "Scale" {
					k.flushed(p.d)
					JMP(LabelRef("plain"))
					return
				}
				slow := k.newLittle(p.d, smallShift)
				join := func(x VecVirtual) { slow.join(o, p, x) }
				if o.turned {
					k.raise()
				}
				if k.float32() && elems == 32 {
					Label("slowly")
					each(k, join)
					k.again("slowly")
					JMP(LabelRef("done"))
					return
				}
				for i, y := range k.table16(v, o.turned, join) {
					VMOVDQA(y, l[i])
				}
				JMP(LabelRef("chunk"))
			}
			if k.float32() && elems == 32 {
				return
			}
			Label("plain")
			l = k.table16(v, o.turned, func(x VecVirtual) { k.join(o, p, x) })
		},
		func(k *runs) {
			if k.float32() && elems == 32 {
				each(k, func(x VecVirtual) { k.join(o, p, x) })
				return
			}
			for i, codes := range k.nibblePairs(high, elems) {
				k.lookup(32*i, codes, l)
			}
		})
}

// arrange copies a book of sixteen numbers in the order of tables.
func (k *runs) arrange(book, to Mem) values {
	a, b := load(book), load(book.Offset(32))
	canonical(a)
	canonical(b)
	if k.wide {
		VMOVUPS(a, to)
		VMOVUPS(b, to.Offset(32))
	} else {
		even := YMM()
		VSHUFPS(Imm(0x88), b, a, even)
		VPERMQ(Imm(quads), even, even)
		VSHUFPS(Imm(0xDD), b, a, a)
		VPERMQ(Imm(quads), a, a)
		VMOVUPS(even, to)
		VMOVUPS(a, to.Offset(32))
	}
	return values{to, to.Offset(32)}
}

// nibblePairs unpacks bytes of two elements each, which follow each other.
func (k *runs) nibblePairs(high bool, elems int) (out []VecVirtual) {
	low := k.shared["low"]
	if elems == 32 {
		codes, shifted := YMM(), YMM()
		VPMOVZXBW(k.from(0), codes)
		if high {
			VPSLLW(Imm(8), codes, shifted)
			VPSRLW(Imm(4), codes, codes)
		} else {
			VPSLLW(Imm(4), codes, shifted)
		}
		VPOR(shifted, codes, codes)
		VPAND(low, codes, codes)
		if k.float32() {
			VPERMD(codes, fours(), codes)
		} else {
			VPERMQ(Imm(quads), codes, codes)
		}
		return []VecVirtual{codes}
	}
	// Dwords in the order of which the halves interleave to two registers of
	// codes in their order.
	first, second := fours(), YMM()
	if k.float32() { // pairs of bytes, for fours
		VMOVDQU(k.from(0), first)
		VPSHUFB(bytes16(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15), first, first)
		VPERMQ(Imm(quads), first, first)
	} else {
		codes := load(k.from(0))
		VPERMD(codes, first, first)
	}
	VPSRLW(Imm(4), first, second)
	VPAND(low, first, first)
	VPAND(low, second, second)
	if high {
		first, second = second, first
	}
	a, b := YMM(), YMM()
	VPUNPCKLBW(second, first, a)
	VPUNPCKHBW(second, first, b)
	return []VecVirtual{a, b}
}
