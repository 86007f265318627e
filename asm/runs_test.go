package asm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/effort"
)

// scalesOf returns scales of every class: each exponent, subnormal, zero, infinite, NaN
// with payloads, both signs.
func scalesOf(rng *rand.ChaCha8, n int) []float32 {
	special := []uint32{0, 0x80000000, 1, 0x80000001, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000,
		0x7FC00000, 0xFFC00000, 0x7F800001, 0x7FFFFFFF, 0xFFFFFFFF, 0x3F800000, 0xBF800000}
	out := make([]float32, n)
	for i := range out {
		v := rng.Uint64()
		switch v >> 60 {
		case 0:
			out[i] = math.Float32frombits(special[v%uint64(len(special))])
		case 1, 2, 3: // what models have
			out[i] = math.Float32frombits(uint32(v)&0x81FFFFFF | 0x3A000000)
		case 4: // powers of two
			out[i] = math.Float32frombits(uint32(v) & 0xFF800000)
		default:
			out[i] = math.Float32frombits(uint32(v))
		}
	}
	return out
}

// Lengths of runs, and of all codes, that meet every path: chunks, their tails,
// runs shorter than a chunk, a last run that is cut, many runs of one call, and
// runs so long that a table of all codes pays.
var runShapes = []struct{ run, elems int }{
	{32, 2240}, {1024, 2048}, {1056, 2200}, {2048, 1060},
	{32, 0}, {32, 32}, {32, 96}, {64, 256}, {128, 384}, {128, 333}, {16, 64}, {16, 70}, {16, 1040}, {2, 6}, {48, 144}, {70, 140}, {96, 95}, {1000, 70}, {256, 64},
	{13, 1300}, {24, 240}, {8, 2060}, {33, 99}, {45, 450}, {46, 459}, {127, 381}, {1500, 3100},
}

func lengths() (out []struct{ run, elems int }) {
	out = append(out, runShapes...)
	for n := range 71 {
		out = append(out, struct{ run, elems int }{128, n}, struct{ run, elems int }{32, n})
	}
	return out
}

// Codes under scales: every format, operation and type.
func TestRunsAgreeWithTheScalarFunctions(t *testing.T) {
	for level, o := range tables(t) {
		for _, to := range types {
			for f := range Float(floats8) {
				t.Run(fmt.Sprintf("%v/%v to %v", level, f, to), func(t *testing.T) {
					lacks(t, o.float8[to][f] == nil)
					eachShape(t, o, to, 1, func(o *Ops, dst, src []byte, a, _ []float32, run int) { o.Float8(f, to, dst, src, a, run) })
				})
			}
			t.Run(fmt.Sprintf("%v/small floats, shifted, to %v", level, to), func(t *testing.T) {
				lacks(t, o.each[to] == nil)
				eachShape(t, o, to, 1, func(o *Ops, dst, src []byte, a, b []float32, run int) {
					o.Float8Shift(E5M2, to, dst, src, Runs{a, b, run})
				})
				eachShape(t, o, to, 1, func(o *Ops, dst, src []byte, a, b []float32, run int) {
					o.Float8Shift(E4M3FNUZ, to, dst, src, Runs{a, b, run})
				})
			})
			last := float32(0.007874015718698502)
			for _, c := range []Bytes{
				{Op: Scale}, {Op: Shift}, {Op: Affine}, {Op: Scale, Last: &last}, {Op: Scale, Unsigned: true, Less: 128},
				{Op: Shift, Unsigned: true, Less: 128}, {Op: Shift, Unsigned: true}, {Op: Affine, Unsigned: true}, {Op: Scale, Unsigned: true},
			} {
				t.Run(fmt.Sprintf("%v/%+v to %v", level, c, to), func(t *testing.T) {
					lacks(t, o.bytes[to][c.Op] == nil)
					eachShape(t, o, to, 1, func(o *Ops, dst, src []byte, a, b []float32, run int) { o.Bytes(c, to, dst, src, Runs{a, b, run}) })
				})
			}
			rng := rand.NewChaCha8([32]byte{9})
			for from := range uint8(8) {
				if testing.Short() && from%4 > 1 {
					continue
				}
				c := HalfBytes{from, new([16]float32)}
				copy(c.Codebook[:], scalesOf(rng, 16))
				t.Run(fmt.Sprintf("%v/half bytes %v to %v", level, from, to), func(t *testing.T) {
					lacks(t, o.halfBytes[to] == nil)
					eachShape(t, o, to, 1, func(o *Ops, dst, src []byte, a, b []float32, run int) { o.HalfBytes(c, to, dst, src, Runs{a, b, run}) })
				})
			}
			for op := range opsN {
				for _, high := range []bool{false, true} {
					c := Nibbles{Op: op, High: high, Codebook: new([16]float32)}
					copy(c.Codebook[:], scalesOf(rng, 16))
					t.Run(fmt.Sprintf("%v/nibbles %v %v to %v", level, op, high, to), func(t *testing.T) {
						lacks(t, o.nibbles[to][0][op] == nil)
						eachShape(t, o, to, 2, func(o *Ops, dst, src []byte, a, b []float32, run int) { o.Nibbles(c, to, dst, src, Runs{a, b, run}) })
					})
				}
			}
		}
	}
}

func eachShape(t *testing.T, o *Ops, to Type, per int, run func(o *Ops, dst, src []byte, a, b []float32, run int)) {
	rng := rand.NewChaCha8([32]byte{byte(to), byte(per)})
	for i, shape := range lengths() {
		if shape.run%per != 0 {
			continue
		}
		for j, f := range fills[:4] {
			if testing.Short() && i >= len(runShapes) && j != i%4 { // lengths that follow each other take turns
				continue
			}
			src := make([]byte, (shape.elems+per-1)/per)
			f.set(src, rng)
			n := (shape.elems + shape.run - 1) / shape.run
			a, b := scalesOf(rng, n), scalesOf(rng, n)
			c := call{fmt.Sprintf("%d codes of %s in runs of %d, scales %x %x", shape.elems, f.name, shape.run, raw(a), raw(b)),
				func(o *Ops, dst, src []byte) { run(o, dst, src, a, b, shape.run) }}
			same(t, o, c, src, shape.elems*to.Size())
		}
	}
}

func raw(f []float32) (out []uint32) {
	for _, v := range f[:min(4, len(f))] {
		out = append(out, math.Float32bits(v))
	}
	return out
}

// Every code of the small floats under thousands of scales: each exponent with
// several mantissas, both signs, and the edges of what the table can do.
func TestEveryCodeUnderEveryExponent(t *testing.T) {
	var src [256]byte
	for i := range src {
		src[i] = byte(i)
	}
	var scales []float32
	for e := range uint32(256) {
		for _, m := range []uint32{0, 1, 0x400000, 0x5A5A5A, 0x7FFFFF, 0x123456, 0x7F0000, 0x008000} {
			scales = append(scales, math.Float32frombits(e<<23|m), math.Float32frombits(1<<31|e<<23|m))
		}
	}
	everyCode(t, scales, 1)
}

// Every code under scales whose products with some mantissa are at the middle of
// two subnormal numbers of bfloat16, or next to it, by as much as roundings to
// float32 move them and a little more; and under scales of few bits.
func TestProductsNearTheMiddleOfTwoAgree(t *testing.T) {
	rng := rand.NewChaCha8([32]byte{10})
	var src [256]byte
	for i := range src {
		src[i] = byte(i)
	}
	var scales []float32
	add := func(s uint32) { // a mantissa of 24 bits under a random small exponent
		v := uint32(rng.Uint64())
		exponent, sign := v>>8%24, v&0x80000000
		if exponent == 0 {
			scales = append(scales, math.Float32frombits(sign|s>>(1+v>>16%23)))
		} else {
			scales = append(scales, math.Float32frombits(sign|exponent<<23|s&0x7FFFFF))
		}
	}
	rounds := effort.Of(10, 100)
	switch {
	case testing.Short():
		rounds = 4
	case raced:
		rounds = min(rounds, 20)
	}
	for range rounds {
		for mantissa := uint64(1); mantissa < 16; mantissa++ {
			for depth := range 20 {
				middle := (rng.Uint64()%(1<<20)<<1 | 1) << depth // times a power of two
				if depth == 0 {                                  // of the largest below one of those and itself
					middle = 511
				}
				for middle/mantissa >= 1<<24 {
					middle >>= 1
				}
				for middle/mantissa < 1<<23 {
					middle <<= 1
				}
				for near := range uint32(9) {
					if s := uint32(middle/mantissa) + near - 4; s>>23 == 1 {
						add(s)
					}
				}
			}
		}
		for bits := range 24 {
			add(1<<23 | uint32(rng.Uint64())&(1<<bits-1)<<(23-bits))
		}
	}
	everyCode(t, scales, 16)
}

// everyCode decodes all codes of the small floats under each scale, at every level; to
// types other than BF16 under one scale of others.
func everyCode(t *testing.T, scales []float32, others int) {
	t.Helper()
	var src [256]byte
	for i := range src {
		src[i] = byte(i)
	}
	for level, o := range tables(t) {
		for f := range Float(floats8) {
			for _, to := range types {
				t.Run(fmt.Sprintf("%v/%v to %v", level, f, to), func(t *testing.T) {
					lacks(t, o.float8[to][f] == nil)
					scalar := For(0)
					want, got := make([]byte, 256*to.Size()), make([]byte, 256*to.Size())
					for i := range scales {
						if to != BF16 && i%others != 0 {
							continue
						}
						scalar.Float8(f, to, want, src[:], scales[i:], 256)
						for _, run := range []int{256, 32} { // long and short runs have paths of their own
							o.Float8(f, to, got, src[:], slices.Repeat(scales[i:i+1], 256/run), run)
							if !bytes.Equal(want, got) {
								t.Fatalf("scale %x, runs of %d: %s", math.Float32bits(scales[i]), run, difference(want, got))
							}
						}
					}
				})
			}
		}
	}
}

// All pairs of types: every float16, every bfloat16, and float32 around all
// that rounds.
func TestCastsAgreeWithTheScalarFunctions(t *testing.T) {
	sources := map[Type][]byte{}
	for i := range 1 << 16 {
		sources[F16] = binary.LittleEndian.AppendUint16(sources[F16], uint16(i))
		for _, low := range []uint32{0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF, 0x1000, 0x0FFF, 0x3000} {
			if !raced || i%16 == 0 {
				sources[F32] = binary.LittleEndian.AppendUint32(sources[F32], uint32(i)<<16|low)
			}
		}
	}
	sources[BF16] = sources[F16]
	rng := rand.NewChaCha8([32]byte{})
	for level, o := range tables(t) {
		for _, from := range types {
			for _, to := range types {
				t.Run(fmt.Sprintf("%v/%v to %v", level, from, to), func(t *testing.T) {
					lacks(t, o.cast[from][to] == nil)
					c := call{"all", func(o *Ops, dst, src []byte) { o.Cast(from, to, dst, src) }}
					all := sources[from]
					same(t, o, c, all, len(all)/from.Size()*to.Size())
					for n := range 71 {
						src := make([]byte, n*from.Size())
						rng.Read(src)
						c.name = fmt.Sprint(n, " numbers")
						same(t, o, c, src, n*to.Size())
					}
				})
			}
		}
	}
}

// Scales of every exponent up to 2^0, half of them so small that products are
// subnormal, over numbers of models: bytes, and nibbles of codebooks within bounds and
// not, and zero points or minima that leave sums and differences next to zero.
func TestSmallScalesAgreeWithTheScalarFunctions(t *testing.T) {
	rng := rand.NewChaCha8([32]byte{8})
	const run, n = 64, 512
	src := make([]byte, run*n)
	rng.Read(src)
	lasts := [...]float32{0.007874015718698502, -3, 0x1p-60, -0x1.fffffep-61, 0x1p60, 0x1.000002p60, 0x1p-140, 0, infinite, nan}
	edges := [...]uint32{1, 2, 0x007FFFFF, 0x00800000, 0x00800001, subnormalBelow - 1, subnormalBelow, subnormalBelow + 1, subnormalBelow | 0x7FFFFF}
	codebooks := map[string]*[16]float32{
		"counted": {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
		"normal":  {-1, -0.6961928, -0.52507305, -0.3949175, -0.28444138, -0.18477343, -0.091050036, 0, 0.0795803, 0.1609302, 0.2461123, 0.33791524, 0.44070983, 0.562617, 0.72295684, 1},
		"bounds":  {0x1p-20, -0x1p-20, 0x1p30, -0x1p30, 0x1.fffffep-21, 0x1.000002p30},
		"largest": {0x1p-20, -0x1.fffffep30, 0x1.fffffep30, 0, 0.3},
		"wild":    {0x1p-149, -0x1p-126, infinite, nan, 0x1p100},
	}
	seconds := [...]float32{0, negativeZero, 7, 8.5, 0x1p-140, -0x1p-149, infinite, -infinite, nan, 0x1p-100, 0x1p100, -3,
		0x1p-60, -0x1p-60, 0x1.fffffep-61, -0x1.fffffep-61, 0x1p30, -0x1.fffffep29, -0x1p-126, 0x1.8p-120, 0.99999994, -0x1p-118,
		0x1p31, -0x1.000002p31, 0x1p33, -0x1p40, 0x1p120, 0x1p-41, -0x1p-39, 0x1.8p-45}
	for level, o := range tables(t) {
		for _, to := range types {
			t.Run(fmt.Sprintf("%v/to %v", level, to), func(t *testing.T) {
				lacks(t, o.bytes[to][Scale] == nil)
				rounds := effort.Of(4, 16)
				if raced || testing.Short() {
					rounds = 2
				}
				for round := range rounds {
					a, b := make([]float32, n), make([]float32, n)
					for i := range a {
						v := uint32(rng.Uint64())
						a[i] = math.Float32frombits(v&0x807FFFFF | uint32((round*n+i)%64+round%2*64)<<23)
						if i%16 == 0 {
							a[i] = math.Float32frombits(v&0x80000000 | edges[v>>4%uint32(len(edges))])
						}
						b[i] = seconds[v>>8%uint32(len(seconds))]
						if i%8 == 1 { // sums next to zero
							b[i] = -3 * a[i]
						}
					}
					calls := map[string]func(o *Ops, dst, src []byte){}
					for op := range opsN {
						for _, c := range []Bytes{{Op: op}, {Op: op, Unsigned: true}, {Op: op, Unsigned: true, Less: 128}} {
							calls[fmt.Sprintf("%+v", c)] = func(o *Ops, dst, src []byte) { o.Bytes(c, to, dst, src, Runs{a, b, run}) }
						}
						if o.nibbles[to][0][op] == nil {
							continue
						}
						for name, codebook := range codebooks {
							c := Nibbles{Op: op, High: round%2 == 1, Codebook: codebook}
							for _, run := range []int{16, 32, 64} {
								calls[fmt.Sprint(name, op, run)] = func(o *Ops, dst, src []byte) {
									m := n * run / 2
									o.Nibbles(c, to, dst[:2*m*to.Size()], src[:m], Runs{a, b, run})
								}
							}
						}
					}
					for i := range lasts {
						c := Bytes{Last: &lasts[i]}
						calls[fmt.Sprint("twice ", lasts[i])] = func(o *Ops, dst, src []byte) { o.Bytes(c, to, dst, src, Runs{a, nil, run}) }
					}
					scalar := For(0)
					for name, c := range calls {
						want, got := make([]byte, len(src)*to.Size()), make([]byte, len(src)*to.Size())
						c(&scalar, want, src)
						c(o, got, src)
						if !bytes.Equal(want, got) {
							t.Fatalf("%s: %s", name, difference(want, got))
						}
					}
				}
			})
		}
	}
}

var negativeZero = float32(math.Copysign(0, -1))

// subnormalBelow is the scale, as bits, below which kernels check for subnormal products.
const subnormalBelow = (127 - 100) << 23
