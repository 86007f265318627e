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
			decode := func(s stretch) {
				for i := range s.n {
					x := *after(s.a, i)
					if *after(s.b, i) != 2*x || *after(s.src, i*2*kernelChunk) != byte(x) {
						t.Fatalf("run %v has the numbers of another", x)
					}
					for j := range 2 * kernelChunk {
						*(*float32)(unsafe.Pointer(after(s.dst, 4*(i*2*kernelChunk+j)))) += x + 1
					}
				}
			}
			stretch{&Raw(dst)[0], &src[0], &a[0], &b[0], n}.above(2*kernelChunk*F32.Size(), 2*kernelChunk, func(s stretch) int {
				for s.n > 0 {
					some := s
					some.n = min(s.n, 16)
					if slices.ContainsFunc(unsafe.Slice(s.a, some.n), func(x float32) bool { return slices.Contains(odd, int(x)) }) {
						break
					}
					decode(some)
					s = s.from(some.n, 2*kernelChunk*F32.Size(), 2*kernelChunk)
				}
				return s.n
			}, func(s stretch) {
				fromBelow += s.n
				decode(s)
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
