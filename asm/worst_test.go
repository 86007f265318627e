package asm

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var all = flag.Bool("all", false, "print the rates on all hostile data")

// A hostile fill is data that an adversary would send to make a kernel slow.
type hostile struct {
	name   string
	scale  func(i int) float32 // of runs
	half   func(i int) uint16  // float16 of blocks, and the least bytes of other scales
	code   func(r uint64) byte
	second func(i int) float32 // zero points or minima of runs, or nil for what a model has
}

func anyCode(r uint64) byte { return byte(r) }

func bitsOf(b uint32) func(int) float32 {
	return func(i int) float32 { return math.Float32frombits(b + uint32(i*7919)&0xFFFFF) }
}

func constant[T any](v T) func(int) T { return func(int) T { return v } }

var (
	infinite = float32(math.Inf(1))
	nan      = float32(math.NaN())
	hostiles = []hostile{
		{"small", bitsOf(0x00A00000), constant[uint16](0x0400), anyCode, nil},
		{"smaller", bitsOf(0x05A00000), constant[uint16](0x0001), anyCode, nil},
		{"subnormal", bitsOf(0x00100000), constant[uint16](0x0155), anyCode, nil},
		{"least", constant(float32(0x1p-149)), constant[uint16](0x8001), anyCode, nil},
		{"huge", bitsOf(0x7F000000), constant[uint16](0x7BFF), anyCode, nil},
		{"zero", constant(float32(0)), constant[uint16](0), anyCode, nil},
		{"infinite", constant(infinite), constant[uint16](0x7C00), anyCode, nil},
		{"NaN", constant(nan), constant[uint16](0x7E01), anyCode, nil},
		{"mixed", func(i int) float32 {
			return [...]float32{0x1p-130, 0, 0x1p-120, infinite, nan, -0x1p127, 0x1p-8}[i*7919>>3%7]
		}, func(i int) uint16 { return uint16(i * 40503) }, anyCode, nil},
		{"codes of zero", bitsOf(0x3C000000), constant[uint16](0x1C00), func(uint64) byte { return 0 }, nil},
		{"codes of ones", bitsOf(0x3C000000), constant[uint16](0x1C00), func(uint64) byte { return 0xFF }, nil},
		{"small codes", bitsOf(0x3C000000), constant[uint16](0x1C00), func(r uint64) byte { return byte(r & 0x81) }, nil},
		{"small, small codes", bitsOf(0x00A00000), constant[uint16](0x0001), func(r uint64) byte { return byte(r & 0x81) }, nil},
		{"negligible shift", bitsOf(0x3C000000), constant[uint16](0x1C00), func(uint64) byte { return 0 }, bitsOf(0x00100000)},
		{"negligible, any codes", bitsOf(0x3C000000), constant[uint16](0x1C00), anyCode, bitsOf(0x00100000)},
		{"small shift", bitsOf(0x0A000000), constant[uint16](0x1C00), func(uint64) byte { return 0 }, bitsOf(0x30000000)},
		{"cancelling", cancelled, constant[uint16](0x1C00), func(uint64) byte { return 0x22 }, cancelling(0x22)},
		{"cancelling in codebooks", cancelled, constant[uint16](0x1C00), func(uint64) byte { return 0x22 }, cancelling(1)},
	}
)

// cancelled is small scales, whose products by a number cancelling takes off but for the
// last bits.
var cancelled = bitsOf(0x09000000)

func cancelling(by float32) func(int) float32 {
	return func(i int) float32 { return -by * cancelled(i) * (1 + 0x1p-22) }
}

// fill writes blocks of a kind, or codes, or numbers to encode.
func (h *hostile) fill(e *bench, src []byte, rng *rand.ChaCha8) {
	for i := range src {
		src[i] = h.code(rng.Uint64())
	}
	if e.class == "masks" && h.name == "least" { // all numbers in front
		clear(src[1:])
		return
	}
	if e.class == "encode" {
		for i := range len(src) / 4 {
			f := h.scale(i)
			if i%64 == 0 && f != 0 {
				f = 1 // beside which the others are small
			}
			binary.LittleEndian.PutUint32(src[4*i:], math.Float32bits(f))
		}
		return
	}
	for k := range Kinds {
		if strings.HasPrefix(e.name, k.String()+" to ") {
			h.blocks(k, src)
		}
	}
}

func (h *hostile) blocks(k Kind, src []byte) {
	for i := range len(src) / k.Bytes() {
		block := src[i*k.Bytes():]
		for _, at := range halves[k] {
			binary.LittleEndian.PutUint16(block[max(at, -at):], h.half(i))
		}
		switch k {
		case MXFP4: // the byte is an exponent
			block[0] = byte(math.Float32bits(h.scale(i)) >> 23)
		case Q8_K:
			binary.LittleEndian.PutUint32(block, math.Float32bits(h.scale(i)))
		case NVFP4:
			binary.LittleEndian.PutUint32(block, uint32(h.half(i))*0x10001)
		}
	}
}

// A side is data that an entry is measured on.
type side struct {
	in     [32][]byte
	scales []float32
	zeros  []float32
	best   float64 // the rate, of all runs
}

func newSide(e *bench, elems int, scale, second func(i int) float32, fill func(src []byte)) *side {
	s := &side{scales: make([]float32, elems/16), zeros: make([]float32, elems/16)}
	if second == nil {
		second = constant[float32](7)
	}
	for i := range s.scales {
		s.scales[i], s.zeros[i] = scale(i), second(i)
	}
	for i := range s.in {
		s.in[i] = make([]byte, elems/e.elems*e.bytes)
		fill(s.in[i])
	}
	return s
}

// look is the best rate of some runs of a fraction of a millisecond.
func (s *side) look(o *Ops, e *bench, scales, zeros []float32, out []byte) float64 {
	copy(scales, s.scales)
	copy(zeros, s.zeros)
	best := 0.0
	for range 3 {
		best = max(best, rate(len(s.in)/4*len(out)/e.out, func() {
			for i := range len(s.in) / 4 {
				e.run(o, out, s.in[4*i])
			}
		}))
	}
	s.best = max(s.best, best)
	return best
}

// worstBenches are entries that are measured here alone: other orders, operations and
// lengths of runs, columns of words, and masks. What only moves bytes or shifts words by the
// same for all, as Transpose, Swap, Lanes, Spread, Fields and Pick do, looks at none of them and
// takes the same time for all.
func worstBenches(scales, zeros []float32) (out []bench) {
	codebook := &[16]float32{0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6}
	add := func(class, name string, elems, bytes int, run func(o *Ops, to Type, dst, src []byte)) {
		for _, to := range []Type{BF16, F32, F16} {
			out = append(out, bench{class, fmt.Sprintf("%s to %v", name, to), elems, bytes, to.Size(), func([]byte) {},
				func(o *Ops, dst, src []byte) { run(o, to, dst, src) }})
		}
	}
	nibbles := func(name string, run int, n Nibbles) {
		n.Codebook = codebook
		add("4-bit", fmt.Sprintf("%s/%d", name, run), run, run/2, func(o *Ops, to Type, dst, src []byte) { o.Nibbles(n, to, dst, src, Runs{scales, zeros, run}) })
	}
	for _, high := range []bool{false, true} {
		for _, run := range []int{16, 128} {
			nibbles(fmt.Sprintf("codebook, high first %t", high), run, Nibbles{High: high})
		}
	}
	for _, run := range []int{32, 128} {
		nibbles("codebook, shifted", run, Nibbles{Op: Shift})
		nibbles("affine", run, Nibbles{Op: Affine})
		add("8-bit", fmt.Sprintf("bytes, shifted/%d", run), run, run, func(o *Ops, to Type, dst, src []byte) {
			o.Bytes(Bytes{Op: Shift, Unsigned: true}, to, dst, src, Runs{scales, zeros, run})
		})
		add("8-bit", fmt.Sprintf("bytes, affine/%d", run), run, run, func(o *Ops, to Type, dst, src []byte) {
			o.Bytes(Bytes{Op: Affine, Unsigned: true}, to, dst, src, Runs{scales, zeros, run})
		})
		add("8-bit", fmt.Sprintf("half bytes/%d", run), run, run, func(o *Ops, to Type, dst, src []byte) {
			o.HalfBytes(HalfBytes{From: 4, Codebook: codebook}, to, dst, src, Runs{scales, zeros, run})
		})
	}
	add("8-bit", "E4M3, blocks of 32", 32, 32, func(o *Ops, to Type, dst, src []byte) { o.Float8(E4M3, to, dst, src, scales, 32) })
	add("8-bit", "E4M3, shifted", 128, 128, func(o *Ops, to Type, dst, src []byte) { o.Float8Shift(E4M3, to, dst, src, Runs{scales, zeros, 128}) })
	for _, bits := range []int{4, 8} {
		out = append(out, columnBenches(bits, scales, zeros)...)
	}
	numbers := make([]byte, 8*len(scales)*16)
	for _, size := range []int{1, 2, 4} {
		out = append(out, bench{"masks", fmt.Sprintf("Expand %d", size), 8, 1, size, func([]byte) {},
			func(o *Ops, dst, src []byte) { o.Expand(size, dst, numbers[:Ones(src)*size], src) }})
	}
	return out
}

// columnBenches are columns of words in eight groups.
func columnBenches(bits int, scales, zeros []float32) (out []bench) {
	const count, elems, groups = 64, 64 << 10, 8
	row := elems / count
	c := Columns{Bits: bits, Words: row * bits / 32, Count: count, Groups: make([]uint32, row), Scales: scales[:groups*count], Zeros: zeros[:groups*count],
		Room: make([]float32, 3*groups*count)}
	for i := range c.Groups {
		c.Groups[i] = uint32(i * groups / row)
	}
	for _, to := range []Type{BF16, F32, F16} {
		out = append(out, bench{"GPTQ, AWQ", fmt.Sprintf("columns of %d bits to %v", bits, to), elems, elems * bits / 8, to.Size(), func([]byte) {},
			func(o *Ops, dst, src []byte) { o.Columns(c, to, dst, src, row*to.Size(), 4*count) }})
	}
	return out
}

// BenchmarkWorst prints, for each entry and each level, its rate on data of a model and on
// the data that slows it most, and how many times slower that is. Others use this machine too,
// so the two take turns, and the median of what turns say counts. With -all it prints all data.
func BenchmarkWorst(b *testing.B) {
	fmt.Printf("%-36s %-12s %8s %8s %6s  %s\n", "entry", "level", "model", "worst", "times", "on")
	for _, l := range Machine()[1:] {
		if os.Getenv(variable) == "" || Best().Level() == l {
			worstOf(l)
		}
	}
}

func worstOf(l Level) {
	const small = 64 << 10
	pattern := regexp.MustCompile(*only)
	rng := rand.NewChaCha8([32]byte{1})
	scales, zeros, good := make([]float32, small/16), make([]float32, small/16), modelScales(small/16)
	o := For(l.Features())
	for _, e := range append(benches(scales), worstBenches(scales, zeros)...) {
		if !pattern.MatchString(e.name) {
			continue
		}
		n := small / e.elems * e.elems
		out := make([]byte, n*e.out)
		model := newSide(&e, n, func(i int) float32 { return good[i] }, nil, func(src []byte) { rng.Read(src); e.fix(src) })
		times, on := 0.0, ""
		report := func(times float64, on string) {
			fmt.Printf("%-36s %-12v %8.2f %8.2f %6.2f  %s\n", e.name, l, model.best, model.best/times, times, on)
		}
		for _, h := range hostiles {
			s := newSide(&e, n, h.scale, h.second, func(src []byte) { h.fill(&e, src, rng) })
			var turns [25]float64
			for i := range turns {
				turns[i] = model.look(&o, &e, scales, zeros, out) / s.look(&o, &e, scales, zeros, out)
			}
			slices.Sort(turns[:])
			median := turns[len(turns)/2]
			if *all {
				report(median, h.name)
			}
			if median > times {
				times, on = median, h.name
			}
		}
		report(times, on)
	}
}
