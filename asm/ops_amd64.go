//go:build !purego

package asm

// arch overwrites what the levels of the set have, worst first.
func (o *Ops) arch(f Features) {
	if f.has(avx2) {
		o.avx2()
	}
	if f.has(avx512) {
		o.avx512()
	}
	if f.has(avx512BF16) {
		o.avx512BF16()
	}
}

func (o *Ops) avx2() {
	o.level = avx2
	o.avx2Kernels()
	o.exact[F32] = o.blocks[F32]
}

// swapOrders is how the bytes of numbers of each size are reversed.
var swapOrders = func() (orders [9][16]byte) {
	for _, size := range []int{2, 4, 8} {
		for i := range orders[size] {
			orders[size][i] = byte(i ^ (size - 1))
		}
	}
	return orders
}()

// swapBy reverses the bytes of numbers of each size by their orders.
func (o *Ops) swapBy(kernel func(dst, src, order *byte, n int)) {
	for _, size := range []int{2, 4, 8} {
		o.swap[size] = with(kernel, &swapOrders[size][0])
	}
}
