package asm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/anamnesis-go/anamnesis/internal/effort"
)

// Numbers of a model, ties, neighbours of bounds, zeros of both signs, numbers
// that are subnormal, huge, infinite or NaN.
func numbersToEncode(rng *rand.ChaCha8, n, kind int, q *Quantizer) []byte {
	p := make([]byte, 4*n)
	for i := range n {
		v := rng.Uint64()
		f := math.Float32frombits(uint32(v)&0x83FFFFFF | 0x3C000000)
		switch kind {
		case 1:
			f = q.bounds[v%15]
			if v>>8&1 == 1 {
				f = math.Float32frombits(math.Float32bits(f) + uint32(v>>9%3) - 1)
			}
		case 2:
			f = float32(int64(v%513)-256) / 2
		case 3:
			f = math.Float32frombits(uint32(v))
		case 4:
			f = math.Float32frombits(uint32(v) & 0x80000003)
		}
		putFloat(p[4*i:], f)
	}
	return p
}

// floatsOf returns numbers in memory.
func floatsOf(p []byte) []float32 {
	if len(p) == 0 {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&p[0])), len(p)/4)
}

var testQuantizer = NewQuantizer(
	[15]float32{-8.480964e-01, -6.106329e-01, -4.5999527e-01, -3.3967942e-01, -2.346074e-01, -1.3791174e-01, -4.5525018e-02, 3.979015e-02,
		1.2025525e-01, 2.0352125e-01, 2.9201376e-01, 3.8931254e-01, 5.0166345e-01, 6.427869e-01, 8.6147845e-01},
	[16]byte{11, 10, 12, 13, 14, 15, 9, 8, 0, 1, 7, 6, 5, 4, 2, 3}, 1e-38)

func TestEncodersAgreeWithTheScalarFunctions(t *testing.T) {
	rng := rand.NewChaCha8([32]byte{6})
	for level, o := range tables(t) {
		t.Run(level.String(), func(t *testing.T) {
			lacks(t, o.absmax == nil)
			for _, run := range []int{32, 64, 128, 4096, 40, 100} {
				for _, n := range []int{0, run, 2 * run, 5 * run, 3*run + 17, 31, 70} {
					for kind := range 5 {
						agreesEncoded(t, o, numbersToEncode(rng, n, kind, testQuantizer), run, kind)
					}
				}
			}
		})
	}
}

func agreesEncoded(t *testing.T, o *Ops, src []byte, run, kind int) {
	t.Helper()
	n := len(src) / 4
	runs := (n + run - 1) / run
	name := fmt.Sprintf("%d numbers of kind %d in runs of %d", n, kind, run)
	most := func(o *Ops, src []byte) []float32 {
		m := make([]float32, runs)
		o.Absmax(m, floatsOf(src), run)
		return m
	}
	same(t, o, call{"absmax of " + name, func(o *Ops, dst, src []byte) { copy(dst, Raw(most(o, src))) }}, src, 4*runs)
	scales := most(o, src)
	if kind == 1 {
		for i := range scales {
			scales[i] = 1
		}
	}
	same(t, o, call{"int8 of " + name, func(o *Ops, dst, src []byte) { o.Int8(dst, floatsOf(src), scales, run) }}, src, n)
	whole := src[:n/run*run*4]
	same(t, o, call{"nearest of " + name, func(o *Ops, dst, src []byte) { o.Nearest(testQuantizer, dst, floatsOf(src), scales, run) }}, whole, len(whole)/8)
}

// E4M3 and E2M1 of every float16, of their neighbours among float32, and of numbers that factors bring
// to where it rounds.
func TestSmallFloatsAgreeWithTheScalarFunction(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	var all []float32
	for h := range 1 << 16 {
		if f := HalfToFloat(uint16(h)); f-f == 0 && (!testing.Short() || h%8 == 0) {
			all = append(all, f, math.Nextafter32(f, 1000), math.Nextafter32(f, -1000))
		}
	}
	for range 1 << 12 {
		if f := math.Float32frombits(rng.Uint32()); f-f == 0 {
			all = append(all, f)
		}
	}
	for level, o := range tables(t) {
		t.Run(level.String(), func(t *testing.T) {
			lacks(t, o.e4m3Times == nil)
			for _, factor := range []float32{1, 3, 0.37, 448, 6, 1e-30, 1e30, 0x1p-140} {
				c := call{fmt.Sprint("times ", factor), func(o *Ops, dst, src []byte) { o.E4M3Times(dst, floatsOf(src), factor) }}
				same(t, o, c, Raw(all), len(all))
				for _, to := range types {
					c := call{fmt.Sprint("over ", factor, " as ", to), func(o *Ops, dst, src []byte) { o.E4M3Over(dst, floatsOf(src), factor, to) }}
					same(t, o, c, Raw(all), len(all))
					c = call{fmt.Sprint("E2M1 over ", factor, " as ", to), func(o *Ops, dst, src []byte) { o.E2M1Over(dst, floatsOf(src), factor, to) }}
					same(t, o, c, Raw(all), len(all))
				}
			}
		})
	}
}

// A number of no more than 128 and half of it less a bit is rounded away from zero by what Q8_0's kernel
// adds, and all between them.
func TestAddingLessThanAHalfRoundsAway(t *testing.T) {
	step := uint32(effort.Of(101, 1))
	if testing.Short() || raced {
		step = 1009
	}
	for b := uint32(0); b <= math.Float32bits(260); b += step {
		x := math.Float32frombits(b)
		if float32(math.Trunc(float64(x+0.49999997))) != away(x) {
			t.Fatalf("%g", x)
		}
	}
}
