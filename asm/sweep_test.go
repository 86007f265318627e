package asm

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

var rounds = flag.Int("rounds", 4000, "calls with random numbers to compare at each level")

// A mood is what most numbers of a call are. Kernels look at many numbers together,
// so it takes calls of one mood, and calls with a few numbers of another, to meet all
// of their ways.
var moods = []func(rng *rand.Rand) uint32{
	func(r *rand.Rand) uint32 { return r.Uint32()&0x81FFFFFF | 0x3A000000 },         // of a model
	func(r *rand.Rand) uint32 { return r.Uint32() & 0x807FFFFF },                    // subnormal
	func(r *rand.Rand) uint32 { return r.Uint32() & 0x8FFFFFFF },                    // small
	func(r *rand.Rand) uint32 { return r.Uint32()&0x83FFFFFF | 0x7C000000 },         // huge, and none
	func(r *rand.Rand) uint32 { return r.Uint32() & 0x80000000 },                    // zero
	func(r *rand.Rand) uint32 { return r.Uint32() & 0xFF800000 },                    // powers of two
	func(r *rand.Rand) uint32 { return math.Float32bits(float32(r.IntN(33) - 16)) }, // whole
	func(r *rand.Rand) uint32 { return r.Uint32() },
}

// numbersOf are n numbers of one mood, or of two.
func numbersOf(r *rand.Rand, n int) []float32 {
	most, few, every := moods[r.IntN(len(moods))], moods[r.IntN(len(moods))], 1<<r.IntN(9)
	out := make([]float32, n)
	for i := range out {
		mood := most
		if r.IntN(every) == 0 {
			mood = few
		}
		out[i] = math.Float32frombits(mood(r))
	}
	return out
}

// A randomCall is an entry with all that it is given.
type randomCall struct {
	name     string
	src, dst int // bytes
	run      func(o *Ops, dst, src []byte)
}

// anyCall draws a call of an entry whose kernels compute with numbers of runs.
func anyCall(r *rand.Rand) randomCall {
	to, run := Type(r.IntN(3)), []int{16, 32, 32, 48, 64, 96, 128, 256}[r.IntN(8)]
	n := run*(1+r.IntN(40)) - 2*r.IntN(run/2)
	runs := (n + run - 1) / run
	a, b, q := numbersOf(r, runs), numbersOf(r, runs), numbersOf(r, n)
	op, f, codebook := Op(r.IntN(int(opsN))), Float(r.IntN(int(floats8))), (*[16]float32)(numbersOf(r, 16))
	if r.IntN(2) == 0 {
		codebook = &[16]float32{0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6}
	}
	high, unsigned, from := r.IntN(2) == 1, r.IntN(2) == 1, uint8(r.IntN(8))
	dst := n * to.Size()
	switch r.IntN(7) {
	case 0:
		return randomCall{fmt.Sprintf("%v/%d", f, run), n, dst, func(o *Ops, d, s []byte) { o.Float8(f, to, d, s, a, run) }}
	case 1:
		return randomCall{fmt.Sprintf("%v shifted/%d", f, run), n, dst, func(o *Ops, d, s []byte) { o.Float8Shift(f, to, d, s, Runs{a, b, run}) }}
	case 2:
		return randomCall{fmt.Sprintf("bytes %d %t/%d", op, unsigned, run), n, dst, func(o *Ops, d, s []byte) {
			o.Bytes(Bytes{Op: op, Unsigned: unsigned}, to, d, s, Runs{a, b, run})
		}}
	case 3:
		return randomCall{fmt.Sprintf("nibbles %d %t/%d", op, high, run), n / 2, dst, func(o *Ops, d, s []byte) {
			o.Nibbles(Nibbles{op, high, codebook}, to, d, s, Runs{a, b, run})
		}}
	case 4:
		return randomCall{fmt.Sprintf("half bytes from %d/%d", from, run), n, dst, func(o *Ops, d, s []byte) {
			o.HalfBytes(HalfBytes{from, codebook}, to, d, s, Runs{a, b, run})
		}}
	case 5:
		s, z := numbersOf(r, n), numbersOf(r, n)
		return randomCall{"each", 0, dst, func(o *Ops, d, _ []byte) { o.Each(to, d, q, s, z) }}
	default:
		return anyColumns(r, to)
	}
}

func anyColumns(r *rand.Rand, to Type) randomCall {
	bits, words, count, groups := 4<<r.IntN(2), 1+r.IntN(40), 1+r.IntN(40), 1+r.IntN(5)
	row := 32 / bits * words
	c := Columns{Bits: bits, Words: words, Count: count, Groups: make([]uint32, row), Scales: numbersOf(r, groups*count), Zeros: numbersOf(r, groups*count),
		Room: make([]float32, 3*groups*count)}
	for i := range c.Groups {
		c.Groups[i] = uint32(r.IntN(groups))
	}
	return randomCall{fmt.Sprintf("columns of %d bits, %d x %d", bits, words, count), 4 * words * count, count * row * to.Size(), func(o *Ops, d, s []byte) {
		o.Columns(c, to, d, s, row*to.Size(), 4*count)
	}}
}

// Scales, zero points or minima and codebooks of every kind, beside each other in one call, give
// the scalar functions' bits.
func TestCallsWithAnyNumbersAgree(t *testing.T) {
	n := *rounds
	if testing.Short() {
		n /= 40
	}
	scalar := For(0)
	for level, o := range tables(t) {
		t.Run(level.String(), func(t *testing.T) {
			for seed := range uint64(n) {
				r := rand.New(rand.NewPCG(seed, uint64(*rounds)))
				c := anyCall(r)
				src := make([]byte, c.src)
				for i := range src {
					src[i] = byte(r.Uint32())
				}
				if r.IntN(8) == 0 {
					clear(src)
				}
				want, got := make([]byte, c.dst), make([]byte, c.dst)
				c.run(&scalar, want, src)
				c.run(o, got, src)
				if !bytes.Equal(got, want) {
					at := 0
					for got[at] == want[at] {
						at++
					}
					t.Errorf("seed %d of %d, %s: byte %d of %d is %02x, want %02x", seed, *rounds, c.name, at, len(got), got[at], want[at])
				}
			}
		})
	}
}
