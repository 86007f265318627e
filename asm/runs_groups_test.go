package asm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

// Many runs that are ordinary, all of them or all but some: kernels that look at several runs at
// once take those in front of such a run, and those behind it.
func TestRunsBesideOthersThatAreNotOrdinary(t *testing.T) {
	const n = 50
	rng := rand.NewChaCha8([32]byte{11})
	numbers := func(exponent uint32) []float32 {
		out := make([]float32, n)
		for i := range out {
			out[i] = math.Float32frombits(uint32(rng.Uint64())&0x807FFFFF | (exponent+uint32(i%9))<<23)
		}
		return out
	}
	nf4 := &[16]float32{-1, -0.6961928, -0.52507305, -0.3949175, -0.28444138, -0.18477343, -0.091050036, 0, 0.0795803, 0.1609302,
		0.2461123, 0.33791524, 0.44070983, 0.562617, 0.72295684, 1}
	counted := new([16]float32)
	for i := range counted {
		counted[i] = float32(i)
	}
	last := float32(0.007874015718698502)
	for level, o := range tables(t) {
		for _, to := range types {
			t.Run(fmt.Sprintf("%v/to %v", level, to), func(t *testing.T) {
				for i, odd := range [][]int{nil, {0}, {15}, {16}, {37}, {49}, {3, 20, 36, 48}} {
					a, b, run := numbers(110), numbers(120), []int{32, 64, 96}[i%3]
					for j, r := range odd { // a scale and a zero point or minimum in turn
						[][]float32{a, b}[j%2][r] = []float32{0x1p-140, infinite, nan, 0, 0x1p-90, 0x1p127}[(i+j)%6]
					}
					src := make([]byte, run*n)
					random(src, rng)
					check := func(name string, size int, decode func(o *Ops, dst, src []byte)) {
						t.Helper()
						same(t, o, call{fmt.Sprintf("%s in runs of %d, %v not ordinary", name, run, odd), decode}, src[:size], run*n*to.Size())
					}
					for f := range Float(floats8) {
						check(f.String(), run*n, func(o *Ops, dst, src []byte) { o.Float8(f, to, dst, src, a, run) })
					}
					for _, c := range []Bytes{{}, {Op: Shift}, {Op: Affine}, {Last: &last}, {Op: Shift, Unsigned: true}, {Op: Affine, Unsigned: true}} {
						check(fmt.Sprintf("%+v", c), run*n, func(o *Ops, dst, src []byte) { o.Bytes(c, to, dst, src, Runs{a, b, run}) })
					}
					for op := range opsN {
						for _, c := range []Nibbles{{op, false, nf4}, {op, true, nf4}, {op, false, counted}} {
							check(fmt.Sprintf("nibbles %v %v", op, c.High), run*n/2, func(o *Ops, dst, src []byte) { o.Nibbles(c, to, dst, src, Runs{a, b, run}) })
						}
					}
				}
			})
		}
	}
}

// Scales and zero points on either side of what kernels tell apart, each with each, of all codes.
func TestRunsUnderNumbersOfAllSizes(t *testing.T) {
	edges := func(exponents ...int) (out []float32) {
		for _, e := range exponents {
			f := math.Ldexp(1, e)
			for _, v := range []float64{f, f * (1 - 0x1p-24), f * (1 + 0x1p-23)} {
				out = append(out, float32(v), float32(-v))
			}
		}
		return append(out, 0, negativeZero, 1, 7, 128, infinite, -infinite, nan, math.MaxFloat32)
	}
	scales, zeros := edges(-149, -140, -126, -103, -80, -47, 0, 77, 127), edges(-149, -127, -46, -24, 5, 77, 78, 79, 127)
	var a, b []float32
	for _, s := range scales {
		for _, z := range zeros {
			a, b = append(a, s), append(b, z)
		}
	}
	run := 256
	if os.Getenv("LEVELS") != "" { // emulated
		run = 32
	}
	src := make([]byte, run*len(a))
	for i := range src {
		src[i] = byte(i % run * (256 / run))
	}
	for level, o := range tables(t) {
		for _, to := range types {
			t.Run(fmt.Sprintf("%v/to %v", level, to), func(t *testing.T) {
				for _, c := range []Bytes{{Op: Shift}, {Op: Shift, Unsigned: true}, {Op: Affine}, {}} {
					same(t, o, call{fmt.Sprintf("%+v", c), func(o *Ops, dst, src []byte) { o.Bytes(c, to, dst, src, Runs{a, b, run}) }}, src, len(src)*to.Size())
				}
				for _, high := range []bool{false, true} {
					n := Nibbles{Shift, high, &[16]float32{0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6}}
					same(t, o, call{"nibbles", func(o *Ops, dst, src []byte) { o.Nibbles(n, to, dst, src, Runs{a, b, run}) }}, src[:len(src)/2], len(src)*to.Size())
					n.Op = Scale
					same(t, o, call{"scaled nibbles", func(o *Ops, dst, src []byte) { o.Nibbles(n, to, dst, src, Runs{a, b, run}) }}, src[:len(src)/2], len(src)*to.Size())
				}
			})
		}
	}
}
