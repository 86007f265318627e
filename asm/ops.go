package asm

import "unsafe"

// Ops is the table of one level: a kernel for each entry that the level has, nil where the
// scalar function is used. Kernels take whole blocks and do not check lengths; the methods
// do.
type Ops struct {
	level Level
	// All are by type first.
	blocks  [3][Kinds]blockKernel
	any     [Kinds]blockKernel    // what decodes any blocks to F32, with a NaN that is any NaN
	exact   [3][Kinds]blockKernel // else what decodes the blocks that those stop at; to F32 none stops
	float8  [3][floats8]float8Kernel
	bytes   [3][bytesTwice + 1]bytesKernel    // by Op
	nibbles [3][2][opsN]codebookKernel        // by order, Op
	pairs   [3][2]codebookKernel              // by order, Scale, runs of 16, two each time
	cast    [3][3]func(dst, src *byte, n int) // by types, 32 numbers each time

	halfBytes [3]func(dst, src *byte, a, b *float32, codebook *float32, shift *uint64, chunks, n int)
	columns   [2][3]columnsKernel                                          // of nibbles, of bytes
	each      [3]func(dst *byte, src, a, b *float32, n int)                // 16 numbers each time
	expand    [5]func(dst, src, last, mask *byte, n int) int               // by size, 8 numbers each time
	transpose [9]func(dst, src *byte, dstStride, srcStride, n int)         // by size, n squares
	swap      [9]func(dst, src *byte, n int)                               // by size, 32 bytes each time
	lanes     func(dst, src *byte, stride, n int)                          // 32 words each time
	spread    func(dst, src *byte, n int)                                  // 32 nibbles each time
	fields    func(dst, src, tables *byte, step int, shift *uint64, n int) // 32 each time

	pick func(dst, src *byte, shift *uint64, mask *uint32, n int) // 32 words each time

	special [3]func(counts *uint32, src *byte, n int) // 64 bytes each time

	absmax  func(dst *float32, src *byte, chunks, n int)
	nearest func(dst, src *byte, scales *float32, tables *byte, least *float32, chunks, n int)
	int8    func(dst, src *byte, scales *float32, chunks, n int)
	search  searchKernels
	rows    [Kinds]rowKernel

	e4m3Times e4m3Kernel
	e4m3Over  [3]e4m3Kernel
	e2m1Over  [3]e4m3Kernel // 16 numbers each time
}

// For returns the table for a set of features, filled worst level first. It does not
// examine the machine.
func For(f Features) (o Ops) {
	o.arch(f)
	return o
}

// Level returns the best level that supplied an entry.
func (o *Ops) Level() Level { return o.level }

// A blockKernel decodes n blocks. It stops before a block whose scales it does not handle,
// such as infinite ones, and returns how many blocks are left.
type blockKernel = func(dst, src *byte, n int) (left int)

// Blocks decodes blocks of one kind to numbers of a type.
func (o *Ops) Blocks(k Kind, to Type, dst, src []byte) {
	n := len(src) / k.Bytes()
	want(n*k.Bytes() == len(src) && n*k.Elems()*to.Size() == len(dst), "blocks and numbers differ in count")
	apart(dst, src)
	kernel := o.blocks[to][k]
	if kernel == nil {
		scalarBlocks(k, to, dst, src)
		return
	}
	for n > 0 {
		left := kernel(&dst[0], &src[0], n)
		if left == 0 {
			return
		}
		// Tiles that the kernel does not take are seldom alone: some more go the exact way.
		done, odd := n-left, min(left, exactTiles*tileElems/k.Elems())
		dst, src = dst[done*k.Elems()*to.Size():], src[done*k.Bytes():]
		o.exactBlocks(k, to, dst[:odd*k.Elems()*to.Size()], src[:odd*k.Bytes()])
		dst, src, n = dst[odd*k.Elems()*to.Size():], src[odd*k.Bytes():], left-odd
	}
}

// exactTiles is how many tiles take the exact way together.
const exactTiles = 8

// exactBlocks decodes blocks with any scales: with the kernel of the level below, or, if
// there is none or it stops too, via float32, whose rounding makes every NaN canonical.
func (o *Ops) exactBlocks(k Kind, to Type, dst, src []byte) {
	left, floats := len(src)/k.Bytes(), o.any[k]
	if kernel := o.exact[to][k]; kernel != nil {
		left = kernel(&dst[0], &src[0], left)
	}
	if floats == nil {
		floats = o.exact[F32][k]
	}
	s := scratch()
	defer s.free()
	for left > 0 {
		dst, src = dst[len(dst)-left*k.Elems()*to.Size():], src[len(src)-left*k.Bytes():]
		n := min(left, tileElems/k.Elems())
		tile := s.floats[:n*k.Elems()]
		if floats != nil {
			floats(&Raw(tile)[0], &src[0], n)
		} else {
			k.Decode(tile, src[:n*k.Bytes()])
		}
		o.Put(to, dst[:n*k.Elems()*to.Size()], tile)
		left -= n
	}
}

func scalarBlocks(k Kind, to Type, dst, src []byte) {
	s := scratch()
	defer s.free()
	for len(src) > 0 {
		k.Decode(s.floats[:k.Elems()], src[:k.Bytes()])
		to.put(dst, s.floats[:k.Elems()])
		dst, src = dst[k.Elems()*to.Size():], src[k.Bytes():]
	}
}

// want panics on a caller's bug, before any pointer is used.
func want(ok bool, bug string) {
	if !ok {
		panic("internal error: a kernel was called wrongly: " + bug)
	}
}

// apart panics if two slices share memory, since kernels read ahead of what they write.
func apart(a, b []byte) {
	if len(a) == 0 || len(b) == 0 {
		return
	}
	p, q := uintptr(unsafe.Pointer(&a[0])), uintptr(unsafe.Pointer(&b[0]))
	want(p+uintptr(len(a)) <= q || q+uintptr(len(b)) <= p, "source and destination overlap")
}
