package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// bookKernels is nibbles that a code book of sixteen numbers explains.
func bookKernels() {
	for _, high := range []bool{false, true} {
		for _, o := range ops {
			if high && o.name != "Scale" {
				continue // nobody stores those
			}
			for t := range targets {
				bookKernel(high, o, t, 32)
				if !targets[t].wide || targets[t].narrow || o.name == "Affine" { // else longer chunks are not faster
					bookKernel(high, o, t, 64)
				}
			}
		}
	}
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
	var two *bookTwo
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
			if !k.wide && o.name == "Scale" && elems == 32 {
				two = &bookTwo{high, v, most}
			}
			if k.float32() && elems == 32 { // a table for so few costs more than the products
				l = k.planes(load(v.a), load(v.b))
			}
		},
		func(k *runs) {
			if two != nil {
				CMPQ(k.chunks, Imm(1))
				JEQ(LabelRef("two"))
				Label("single")
			}
			p = pair{YMM(), YMM()}
			joined := joinedBook{k, o, p, most}
			if o.name == "Scale" {
				k.ifLittle(o, most)
			} else {
				joined.ifOdd()
			}
			k.numbersInto(o, p)
			few := k.float32() && elems == 32
			table := func(_ string, join func(x VecVirtual)) {
				carry(l, k.table16(v, o.turned, join))
				JMP(LabelRef("chunk"))
			}
			write, exactly, plain := table, table, "plain"
			if few {
				write = func(name string, join func(x VecVirtual)) {
					Label(name)
					each(k, join)
					k.again(name)
					JMP(LabelRef("done"))
				}
				exactly = func(name string, join func(x VecVirtual)) {
					carry(l, k.table16(v, o.turned, join))
					Label(name)
					k.lookup(0, k.nibblePairs(high, elems)[0], l)
					k.again(name)
					carry(l, k.planes(load(v.a), load(v.b)))
					JMP(LabelRef("done"))
				}
				plain = "chunk"
			}
			k.rare = func() {
				if two != nil {
					two.write(k)
				}
				if o.name == "Scale" {
					k.littleRuns(o, p, func(join func(x VecVirtual)) {
						if few { // but more chunks than one are worth a table
							CMPQ(k.chunks, Imm(1))
							JEQ(LabelRef("slowly"))
							exactly("exactly", join)
						}
						write("slowly", join)
					})
				} else {
					joined.odd(plain, write, exactly)
				}
			}
			if few {
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

// littleRuns is runs whose scale is a little one, by join. To F16 another scale serves.
func (k *runs) littleRuns(o op, p pair, write func(join func(x VecVirtual))) {
	Label("little")
	k.lifted = !k.narrow
	k.littleNumbersInto(o, p)
	if k.narrow {
		k.flushed(p.d)
		JMP(LabelRef("plain"))
		return
	}
	shift(p.d, liftedShift)
	slow := newLifted(p.d, YMM())
	VPSUBD(dwords(1<<23), p.d, slow.half)
	write(func(x VecVirtual) { slow.join(o, p, x) })
	k.lifted = false
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
		VBROADCASTI128(k.from(0), codes)
		VPSHUFB(bytesToWords(k.float32()), codes, codes)
		if high {
			VPSLLW(Imm(8), codes, shifted)
			VPSRLW(Imm(4), codes, codes)
		} else {
			VPSLLW(Imm(4), codes, shifted)
		}
		VPOR(shifted, codes, codes)
		VPAND(low, codes, codes)
		return []VecVirtual{codes}
	}
	// Dwords in the order of which the halves interleave to two registers of
	// codes in their order.
	first, second := fours(), YMM()
	if k.float32() { // pairs of bytes, for fours
		VMOVDQU(k.from(0), first)
		VPSHUFB(bytes32(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15), first, first)
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

// bytesToWords widens bytes of two elements each, in the order of quads or of fours.
func bytesToWords(fours bool) Mem {
	first := [2][]byte{{0, 8}, {4, 12}} // of each eight elements of a half
	step := byte(4)
	if fours {
		first, step = [2][]byte{{0, 4, 8, 12}, {2, 6, 10, 14}}, 2
	}
	var order []byte
	for _, half := range first {
		for _, at := range half {
			for i := range step {
				order = append(order, at+i, 0x80)
			}
		}
	}
	return data(order)
}
