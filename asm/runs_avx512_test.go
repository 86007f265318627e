//go:build amd64 && !purego

package asm

import (
	"slices"
	"testing"
	"unsafe"
)

// Runs of one number, the index of the run: what two kernels, of which the first stops in front of
// sixteen runs if one of them is odd, come to is all runs once, in order.
func TestAboveLeavesNoRunOut(t *testing.T) {
	for _, n := range []int{1, 15, 16, 17, 50, 4000} {
		for _, odd := range [][]int{nil, {0}, {n - 1}, {n / 2}, {17, 18, 300, 2000}} {
			dst, src, a, b := make([]float32, n*2*kernelChunk), make([]byte, n*2*kernelChunk), make([]float32, n), make([]float32, n)
			for i := range a {
				a[i], b[i], src[i*2*kernelChunk] = float32(i), float32(2*i), byte(i)
			}
			fromBelow := 0
			decode := func(to, from *byte, a, b *float32, n int) {
				for i := range n {
					x := *after(a, i)
					if *after(b, i) != 2*x || *after(from, i*2*kernelChunk) != byte(x) {
						t.Fatalf("run %v has the numbers of another", x)
					}
					for j := range 2 * kernelChunk {
						*(*float32)(unsafe.Pointer(after(to, 4*(i*2*kernelChunk+j)))) += x + 1
					}
				}
			}
			above(F32, kernelChunk, &Raw(dst)[0], &src[0], &a[0], &b[0], 2, n, func(to, from *byte, a, b *float32, n int) int {
				for n > 0 {
					some := min(n, 16)
					if slices.ContainsFunc(unsafe.Slice(a, some), func(x float32) bool { return slices.Contains(odd, int(x)) }) {
						break
					}
					decode(to, from, a, b, some)
					if n -= some; n > 0 {
						to, from, a, b = after(to, 4*some*2*kernelChunk), after(from, some*2*kernelChunk), after(a, some), after(b, some)
					}
				}
				return n
			}, func(to, from *byte, a, b *float32, n int) {
				fromBelow += n
				decode(to, from, a, b, n)
			})
			for i, x := range dst {
				if x != float32(i/(2*kernelChunk)+1) {
					t.Fatalf("%d runs, %v odd: number %d is %v", n, odd, i, x)
				}
			}
			if odd == nil && fromBelow > 0 {
				t.Errorf("%d runs of the level below, none of which is odd", fromBelow)
			}
		}
	}
}
