package convert

import (
	"math"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// nearestCode tries every code: the one nearest to x, the even one of two. Beyond its largest
// number E4M3 saturates; E5M2 rounds as if the next code were a number.
func nearestCode(x float64, to tensor.DType, numbers []float32) byte {
	sign := byte(0)
	if math.Signbit(x) {
		sign, x = 0x80, -x
	}
	last, next := 0x7E, math.Inf(1)
	if to == tensor.F8E5M2 {
		last, next = 0x7B, 65536
	}
	best, gap := 0, math.Inf(1)
	for c := 0; c <= last; c++ {
		if d := math.Abs(float64(numbers[c]) - x); d < gap || d == gap && c%2 == 0 {
			best, gap = c, d
		}
	}
	if math.IsInf(x, 1) && to == tensor.F8E5M2 || math.Abs(next-x) <= gap {
		best = last + 1
	}
	if math.IsInf(x, 1) && to == tensor.F8E4M3 {
		best = last
	}
	return sign | byte(best)
}

func TestNumbersAreRoundedToFloat8(t *testing.T) {
	numbersTried := 300_000
	if testing.Short() {
		numbersTried = 1<<16 + 10_000
	}
	for _, to := range []tensor.DType{tensor.F8E4M3, tensor.F8E5M2} {
		codec, _ := form.CodecOf(to)
		var codes [256]byte
		for i := range codes {
			codes[i] = byte(i)
		}
		numbers := make([]float32, 256)
		codec.Decode(numbers, codes[:])
		bits := uint32(1)
		for i := range numbersTried {
			x := math.Float32frombits(uint32(i) << 16) // each BF16, then others near what is in range
			if i >= 1<<16 {
				bits = bits*1664525 + 1013904223
				x = math.Float32frombits(bits&0x80FFFFFF | (bits>>8%48+100)<<23)
			}
			got := toFloat8(x, to)
			if x != x {
				if got != 0x7F {
					t.Fatalf("%v: NaN %x gives %x", to, math.Float32bits(x), got)
				}
				continue
			}
			if want := nearestCode(float64(x), to, numbers); got != want {
				t.Fatalf("%v: %v (%x) gives %x, want %x", to, x, math.Float32bits(x), got, want)
			}
			if most := mostFloat8(to); x > 0 && x < math.MaxFloat32 && (x > most) != (numbers[got] != numbers[nearestCode(float64(min(x, most)), to, numbers)] || to == tensor.F8E4M3 && x > most) {
				t.Fatalf("%v: %v is in range or not", to, x)
			}
		}
	}
}
