//go:build amd64 && !purego

package asm

import (
	"math"
	"unsafe"
)

// runsAVX512 is what has a kernel of 64-byte registers but blocks. Columns of words,
// transposes, and what parts or swaps bytes have none: they wait for memory, not for registers.
func (o *Ops) runsAVX512() {
	for f := range Float(float8Kinds) {
		o.float8[F32][f] = float8By(float8F32AVX512, f)
		o.float8[BF16][f] = wordsFloat8(f)
		o.float8[F16][f] = longFloat8(float8By(float8F16AVX512, f))
	}
	o.bytes[F32][Shift], o.bytes[F32][Affine] = bytesShiftF32AVX512, bytesAffineF32AVX512
	o.bytes[BF16] = longBytes(bytesScaleBF16AVX512, bytesShiftBF16AVX512, bytesAffineBF16AVX512, bytesTwiceBF16AVX512)
	o.bytes[F16] = longBytes(bytesScaleF16AVX512, bytesShiftF16AVX512, bytesAffineF16AVX512, bytesTwiceF16AVX512)
	o.nibblesAVX512()
	o.spread, o.fields = spreadAVX512, fieldsAVX512
	o.each[BF16] = eachBF16
	o.absmax, o.nearest, o.int8 = absmaxAVX512, nearestAVX512, int8AVX512
	o.castAVX512()
}

// nibblesAVX512 leaves codebooks that are not plain, and what the level below does not have, to
// that.
func (o *Ops) nibblesAVX512() {
	for to, kernels := range [...][opsN]nibblesKernel{
		F32:  {codebookScale32F32AVX512, codebookShift32F32AVX512, codebookAffine32F32AVX512},
		BF16: {codebookScale32BF16AVX512, codebookShift32BF16AVX512, codebookAffine32BF16AVX512},
		F16:  {codebookScale32F16AVX512, codebookShift32F16AVX512, codebookAffine32F16AVX512},
	} {
		for high := range o.nibbles[to] {
			order := nibbleOrder(Type(to), high == 1)
			for op, k := range kernels {
				below := o.nibbles[to][high][op][0]
				if below == nil {
					continue // nobody stores those
				}
				o.nibbles[to][high][op] = [2]codebookKernel{func(dst, src *byte, a, b *float32, codebook *float32, chunks, n int) {
					if plain(codebook, Op(op)) {
						k(dst, src, a, b, codebook, &order[0], chunks, n)
					} else {
						below(dst, src, a, b, codebook, chunks, n)
					}
				}}
			}
		}
	}
	for to, k := range [...]nibblesKernel{F32: codebookScale16F32AVX512, BF16: codebookScale16BF16AVX512, F16: codebookScale16F16AVX512} {
		below := o.pairs[to][0]
		for high := range o.pairs[to] {
			order := nibbleOrder(Type(to), high == 1)
			o.pairs[to][high] = func(dst, src *byte, a, b *float32, codebook *float32, chunks, n int) {
				switch {
				case plain(codebook, Scale):
					k(dst, src, a, b, codebook, &order[0], chunks, 2*n)
				case high == 0:
					below(dst, src, a, b, codebook, chunks, n)
				default:
					swapped(Type(to), below, dst, src, a, codebook, n)
				}
			}
		}
	}
	for to, k := range [...]nibblesKernel{F32: halfBytesShiftF32AVX512, BF16: halfBytesShiftBF16AVX512, F16: halfBytesShiftF16AVX512} {
		orders, below := halfByteOrders(Type(to)), o.halfBytes[to]
		o.halfBytes[to] = func(dst, src *byte, a, b *float32, codebook *float32, shift *uint64, chunks, n int) {
			if plain(codebook, Shift) {
				k(dst, src, a, b, codebook, &orders[*shift&7][0], chunks, n)
			} else {
				below(dst, src, a, b, codebook, shift, chunks, n)
			}
		}
	}
}

func (o *Ops) castAVX512() {
	for to, kernels := range [...][3]func(dst, src *byte, n int){
		BF16: {castF32ToBF16AVX512, with(castSameAVX512, &[2]uint16{0x7F80, 0x7FC0}), castF16ToBF16AVX512},
		F16:  {castF32ToF16AVX512, castBF16ToF16AVX512, with(castSameAVX512, &[2]uint16{0x7C00, 0x7E00})},
	} {
		for from, kernel := range kernels {
			if kernel != nil {
				o.cast[from][to] = kernel
			}
		}
	}
}

// A nibblesKernel is told where in a byte the first of two codes lies.
type nibblesKernel func(dst, src *byte, a, b *float32, codebook *float32, order *byte, chunks, n int)

// plain reports a codebook whose numbers are zero or from 2^-20 to 2^31, as the kernels want
// them, and of which none that zero points are taken off is minus zero.
func plain(codebook *float32, op Op) bool {
	for _, v := range unsafe.Slice(codebook, 16) {
		magnitude := math.Float32bits(v) &^ (1 << 31)
		if magnitude == 0 && (op != Shift || !math.Signbit(float64(v))) {
			continue
		}
		if magnitude < (127-20)<<23 || magnitude >= (127+31)<<23 {
			return false
		}
	}
	return true
}

// swapped decodes pairs of runs whose first of two codes is the high nibble by a kernel of
// those where it is the low one.
func swapped(to Type, kernel codebookKernel, dst, src *byte, a, codebook *float32, n int) {
	const bytes, some = 16, tileElems / 4
	s := scratch()
	defer s.free()
	tile := Raw(s.floats[:])[:some*bytes]
	for at := 0; at < n; at += some {
		m := min(some, n-at)
		for i, b := range unsafe.Slice(after(src, at*bytes), m*bytes) {
			tile[i] = b<<4 | b>>4
		}
		kernel(after(dst, at*2*bytes*to.Size()), &tile[0], after(a, 2*at), after(a, 2*at), codebook, 1, m)
	}
}

// nibbleOrder is the place, in bits of eight bytes, where each byte of an index
// is cut out: its nibble, and below it as many bits as each of a number's bytes
// takes. Indices are words, to F32 dwords.
func nibbleOrder(to Type, high bool) (order *[64]byte) {
	order = new([64]byte)
	width, below := 2, indexBits[to]
	if to == F32 {
		width = 4
	}
	for i := range order {
		at := 4 * (i / width % 16)
		if high {
			at ^= 4
		}
		order[i] = byte(at-below) & 63
	}
	return order
}

// indexBits is how many bits of an index are not a code's but say which of a
// number's bytes it is for.
var indexBits = [...]int{F32: 0, BF16: 2, F16: 1}

// halfByteOrders is by how much each dword of bytes is rotated to the left to have a
// code that begins at each bit where indices have it.
func halfByteOrders(to Type) *[8][64]byte {
	orders := new([8][64]byte)
	for from := range orders {
		for i := 0; i < 64; i += 4 {
			orders[from][i] = byte(indexBits[to]-from) & 31
		}
	}
	return orders
}

// longRun is from how many chunks on a run is worth a table of what all 256
// codes come to: the kernel of short runs makes it.
const longRun = 32

// allCodes is each byte once.
var allCodes = func() (p [256]byte) {
	for i := range p {
		p[i] = byte(i)
	}
	return p
}()

// byTable decodes n runs; fill decodes all codes under the numbers of run r.
func byTable(dst, src *byte, chunks, n int, fill func(table *byte, r int)) {
	s := scratch()
	defer s.free()
	table := &Raw(s.floats[:128])[0]
	for r := range n {
		fill(table, r)
		at := r * chunks * kernelChunk
		lookupAVX512(after(dst, 2*at), after(src, at), table, chunks)
	}
}

func longBytes(kernels ...bytesKernel) (out [bytesTwice + 1]bytesKernel) {
	for i, k := range kernels {
		out[i] = func(dst, src *byte, a, b *float32, flip *byte, last *float32, chunks, n int) {
			if chunks < longRun {
				k(dst, src, a, b, flip, last, chunks, n)
				return
			}
			byTable(dst, src, chunks, n, func(table *byte, r int) {
				k(table, &allCodes[0], after(a, r), after(b, r), flip, last, len(allCodes)/kernelChunk, 1)
			})
		}
	}
	return out
}

// after is the number i places behind the first.
func after[T any](p *T, i int) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(p), uintptr(i)*unsafe.Sizeof(*p)))
}
