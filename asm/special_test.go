package asm

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// specials counts as the language does, number by number.
func specials(t Type, p []byte) (nan, inf int) {
	numbers := make([]float32, len(p)/t.Size())
	t.get(numbers, p)
	for _, x := range numbers {
		switch f := float64(x); {
		case math.IsNaN(f):
			nan++
		case math.IsInf(f, 0):
			inf++
		}
	}
	return nan, inf
}

// Every number of 16 bits, and those of 32 whose magnitude is next to infinity,
// at every place of every short length, and more of them than words count.
func TestSpecialCountsNaNAndInfinities(t *testing.T) {
	rng := rand.NewChaCha8([32]byte{9})
	for level, o := range withScalar(t) {
		for _, of := range types {
			t.Run(fmt.Sprintf("%v/%v", level, of), func(t *testing.T) {
				lacks(t, o.special[of] == nil && level != Generic)
				if inherits(level, func(o *Ops) any { return o.special[of] }) {
					t.Skip("tested without an emulator")
				}
				check := func(what string, src []byte) {
					t.Helper()
					nan, inf := specials(of, src)
					c := call{what, func(o *Ops, dst, src []byte) {
						a, b := o.Special(of, src)
						binary.LittleEndian.PutUint32(dst, uint32(a))
						binary.LittleEndian.PutUint32(dst[4:], uint32(b))
					}}
					same(t, o, c, src, 8)
					if a, b := o.Special(of, src); a != nan || b != inf {
						t.Fatalf("%s: %d NaN and %d infinities, want %d and %d", what, a, b, nan, inf)
					}
				}
				every := make([]byte, 1<<16*of.Size())
				for i := range 1 << 16 {
					if of == F32 {
						binary.LittleEndian.PutUint32(every[4*i:], 0x7F800000+uint32(i%4-2)+uint32(i&4)<<29)
					} else {
						binary.LittleEndian.PutUint16(every[2*i:], uint16(i))
					}
				}
				check("every number", every)
				for n := range 140 {
					src := make([]byte, n*of.Size())
					for _, f := range fills {
						f.set(src, rng)
						check(fmt.Sprint(n, " of ", f.name), src)
					}
				}
				for _, bits := range []uint32{0x7F807F80, 0xFFFFFFFF, 0x7C007C00} {
					src := make([]byte, 3<<20)
					for i := 0; i < len(src); i += 4 {
						binary.LittleEndian.PutUint32(src[i:], bits)
					}
					check(fmt.Sprintf("nothing but %#x", bits), src)
				}
			})
		}
	}
}
