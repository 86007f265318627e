package model

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// The decay of state spaces and linear attention: transformers stores x, llama.cpp -e^x.

// exponential returns e^x, rounded once. Unlike [math.Exp] it is the same on every
// processor.
func exponential(x float32) float32 {
	switch {
	case x != x:
		return x
	case x > 89:
		return float32(math.Inf(1))
	case x < -104:
		return 0
	}
	k := math.RoundToEven(float64(x) * math.Log2E)
	r := float64(float64(x)-float64(k*0x1.62e42feep-1)) - float64(k*0x1.a39ef35793c76p-33)
	sum := 1.0
	for n := 14.0; n > 0; n-- { // Horner's rule for the series
		sum = 1 + float64(float64(sum*r)/n)
	}
	return float32(math.Ldexp(sum, int(k)))
}

// logarithm returns ln x of a positive number, rounded once: the same on every processor.
// With x = m 2^k and s = (m-1)/(m+1), ln x = k ln 2 + 2 (s + s^3/3 + s^5/5 ...).
func logarithm(x float32) float32 {
	m, k := math.Frexp(float64(x))
	if m < math.Sqrt2/2 {
		m, k = 2*m, k-1
	}
	s := (m - 1) / (m + 1)
	square, sum := float64(s*s), 0.0
	for n := 21.0; n > 0; n -= 2 { // Horner's rule; |s| < 0.172
		sum = float64(sum*square) + 1/n
	}
	low := float64(float64(k)*0x1.a39ef35793c76p-33) + float64(2*s*sum)
	return float32(float64(float64(k)*0x1.62e42feep-1) + low)
}

// Decays checks that all numbers of a tensor in F32 are decays, and reports whether all are
// exponentials of numbers of a narrower type. A float next to the exponential of a BF16
// number counts too: torch, which llama.cpp's converter uses, returns such a float for
// one number in a hundred.
func Decays(b *limits.Budget, s Source, to tensor.DType) (narrow bool, err error) {
	narrow = true
	err = pieces(b, s, func(p []byte, first int64) (bool, error) {
		for i := 0; i < len(p); i += 4 {
			f := -math.Float32frombits(binary.LittleEndian.Uint32(p[i:]))
			if !(f > 0 && f <= math.MaxFloat32) {
				return false, wire.ErrRange.Errorf("its number %d is %v, but a decay is negative", first+int64(i/4), -f)
			}
			narrow = narrow && decaysAs(f, to)
		}
		return true, nil
	})
	return narrow, err
}

// Exact reports whether every number of a tensor in F32 is exact in a narrower type.
func Exact(b *limits.Budget, s Source, to tensor.DType) (exact bool, err error) {
	c, ok := form.CodecOf(to)
	narrow, known := kinds[to]
	if !ok || !known {
		return false, wire.ErrInternal.Errorf("no codec of %v", to)
	}
	var back [4 * castAtOnce]byte
	var half [2 * castAtOnce]byte
	var numbers [castAtOnce]float32
	exact = true
	err = pieces(b, s, func(p []byte, _ int64) (bool, error) {
		n := len(p) / 4
		asm.Best().Cast(asm.F32, narrow, half[:2*n], p)
		c.Decode(numbers[:n], half[:2*n])
		putF32(back[:4*n], numbers[:n])
		exact = bytes.Equal(p, back[:4*n])
		return exact, nil
	})
	return exact, err
}

// pieces calls look with the numbers of a tensor, some at a time, until it returns false.
func pieces(b *limits.Budget, s Source, look func(p []byte, first int64) (bool, error)) error {
	r, ok := s.At()
	if !ok {
		return inOrder(s.Info())
	}
	var raw [4 * castAtOnce]byte
	for off, size := int64(0), s.Info().Bytes(); off < size; off += int64(len(raw)) {
		if err := b.Step(1); err != nil {
			return err
		}
		p := raw[:min(int64(len(raw)), size-off)]
		if err := wire.ReadFull(r, p, off); err != nil {
			return err
		}
		if more, err := look(p, off/4); !more || err != nil {
			return err
		}
	}
	return nil
}

// decaysAs reports whether f is the exponential of a number of a narrower type.
func decaysAs(f float32, to tensor.DType) bool {
	x, ok := rounded(logarithm(f), to)
	if !ok {
		return false
	}
	back := exponential(x)
	if to == tensor.F16 { // the converter also rounds it to F16
		back, _ = rounded(back, to)
		return back == f
	}
	off := int64(math.Float32bits(back)) - int64(math.Float32bits(f))
	return -1 <= off && off <= 1
}

// rounded rounds f to a narrower type.
func rounded(f float32, to tensor.DType) (float32, bool) {
	narrow, known := kinds[to]
	c, ok := form.CodecOf(to)
	if !known || !ok {
		return 0, false
	}
	var wide [4]byte
	var half [2]byte
	var one [1]float32
	binary.LittleEndian.PutUint32(wide[:], math.Float32bits(f))
	asm.Best().Cast(asm.F32, narrow, half[:], wide[:])
	c.Decode(one[:], half[:])
	return one[0], true
}
