package asm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/anamnesis-go/anamnesis/internal/guard"
)

// Kernels that are wrong in one way each: what the comparison is for.
func TestTheComparisonCatchesBrokenKernels(t *testing.T) {
	right := func(dst, src *byte, n int) int {
		scalarBlocks(Q8_0, BF16, unsafe.Slice(dst, 64*n), unsafe.Slice(src, 34*n))
		return 0
	}
	at := func(p *byte, i int) *byte { return (*byte)(unsafe.Add(unsafe.Pointer(p), i)) }
	sink := byte(0)
	for _, c := range []struct {
		name   string
		damage func(dst, src *byte, n int)
		caught string
		walls  bool
	}{
		{"one bit of the last element", func(dst, _ *byte, n int) { *at(dst, 64*n-2) ^= 1 }, "want", false},
		{"a sign of zero", func(dst, _ *byte, n int) { *at(dst, 64*n-1) ^= 0x80 }, "want", false},
		{"a block that is left out", func(dst, _ *byte, n int) { clear(unsafe.Slice(at(dst, 64*(n-1)), 64)) }, "want", false},
		{"a byte written behind the end", func(dst, _ *byte, n int) { *at(dst, 64*n) = 1 }, "touches memory", true},
		{"a byte written before the beginning", func(dst, _ *byte, _ int) { *at(dst, -1) = 1 }, "touches memory", true},
		{"a byte read behind the end", func(_, src *byte, n int) { sink = *at(src, 34*n) }, "touches memory", true},
		{"a byte read before the beginning", func(_, src *byte, _ int) { sink = *at(src, -1) }, "touches memory", true},
		{"a source that is written", func(_, src *byte, _ int) { *at(src, 33) ^= 1 }, "is written", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.walls && !guard.Guards {
				t.Skip("memory is not guarded here")
			}
			var o Ops
			o.blocks[BF16][Q8_0] = func(dst, src *byte, n int) int {
				right(dst, src, n)
				c.damage(dst, src, n)
				return 0
			}
			src := []byte(strings.Repeat("\x01\x38\x10\x20\x7f\x80\xff\x03", 17*3))[:34*12]
			err := compare(t, &o, call{"broken", func(o *Ops, dst, src []byte) { o.Blocks(Q8_0, BF16, dst, src) }}, src, 64*12)
			if err == nil || !strings.Contains(err.Error(), c.caught) {
				t.Errorf("got %v, want %q", err, c.caught)
			}
		})
	}
	_ = sink
	var o Ops
	o.blocks[BF16][Q8_0] = right
	if err := compare(t, &o, call{"right", func(o *Ops, dst, src []byte) { o.Blocks(Q8_0, BF16, dst, src) }}, make([]byte, 34), 64); err != nil {
		t.Errorf("a right kernel: %v", err)
	}
}

// A kernel that stops in front of blocks leaves them, and nothing else, to the exact way.
func TestBlocksThatAKernelLeavesAreDecoded(t *testing.T) {
	src := make([]byte, 34*75)
	for i := range 75 {
		block := src[34*i:][:34]
		for j := range block {
			block[j] = byte(i + 7*j)
		}
		binary.LittleEndian.PutUint16(block, uint16(i*40503))
	}
	for _, every := range []int{1, 2, 3, 33, 40, 74} {
		for wrong := range 2 { // blocks that are left out
			var o Ops
			calls := 0
			o.blocks[BF16][Q8_0] = func(dst, src *byte, n int) int {
				calls++
				taken := min(n, every-1)
				scalarBlocks(Q8_0, BF16, unsafe.Slice(dst, 64*taken), unsafe.Slice(src, 34*taken))
				return max(0, n-taken-wrong)
			}
			err := compare(t, &o, call{"stops", func(o *Ops, dst, src []byte) { o.Blocks(Q8_0, BF16, dst, src) }}, src, 64*75)
			if (err != nil) != (wrong == 1) || calls == 0 {
				t.Errorf("one in %d, %d calls, %d left out: %v", every, calls, wrong, err)
			}
		}
	}
}

// What the instruction of AVX512_BF16 does otherwise than ours is caught where a
// kernel lets it: subnormal numbers are taken for zero, a NaN keeps its sign and
// payload.
func TestTheComparisonCatchesWhatTheInstructionDoesOtherwise(t *testing.T) {
	instruction := func(flush, keep bool) func(dst, src *byte, n int) {
		return func(dst, src *byte, n int) {
			from, to := unsafe.Slice(src, 128*n), unsafe.Slice(dst, 64*n)
			for i := range 32 * n {
				bits := u32(from[4*i:])
				f := math.Float32frombits(bits)
				w := FloatToBfloat(f)
				switch {
				case f != f && keep:
					w = uint16(bits>>16) | 0x40
				case flush && bits&0x7F800000 == 0:
					w &= 0x8000
				}
				binary.LittleEndian.PutUint16(to[2*i:], w)
			}
		}
	}
	numbers := func(bits ...uint32) []byte {
		src := make([]byte, 128)
		for i, b := range bits {
			binary.LittleEndian.PutUint32(src[4*i:], b)
		}
		return src
	}
	for _, c := range []struct {
		name        string
		flush, keep bool
		src         []byte
		caught      bool
	}{
		{"zeros, numbers, infinities and one NaN", true, true, numbers(0x80000000, 0x3F808000, 0x00800000, 0xFF800000, 0x7FC00000), false},
		{"a subnormal number", true, false, numbers(0x007F0000), true},
		{"a number that rounds to a normal one", true, false, numbers(0x007FFFFF), true},
		{"a NaN with a sign", false, true, numbers(0xFFC00000), true},
		{"a NaN with a payload", false, true, numbers(0x7FA10000), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var o Ops
			o.cast[F32][BF16] = instruction(c.flush, c.keep)
			err := compare(t, &o, call{c.name, func(o *Ops, dst, src []byte) { o.Cast(F32, BF16, dst, src) }}, c.src, 64)
			if (err != nil) != c.caught {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Each method refuses lengths that do not fit, on memory that would fault if
// anything were read or written before the check.
func TestWrongCallsPanicBeforeAnythingIsTouched(t *testing.T) {
	memory, err := guard.Memory(guard.Page)
	if err != nil {
		t.Fatal(err)
	}
	p := func(n int) []byte { return guard.At(memory, n, false) }
	q := func(n int) []byte { return guard.At(memory, n, true) }
	scales, codebook := make([]float32, 2), new([16]float32)
	for level, o := range withScalar(t) {
		for name, wrong := range map[string]func(){
			"blocks, a byte short":            func() { o.Blocks(Q8_0, BF16, p(64), q(33)) },
			"blocks, a destination short":     func() { o.Blocks(Q8_0, BF16, p(62), q(34)) },
			"blocks, a destination long":      func() { o.Blocks(Q4_K, F32, p(1028), q(144)) },
			"blocks, no destination":          func() { o.Blocks(Q8_0, F16, nil, q(34)) },
			"blocks, no source":               func() { o.Blocks(Q8_0, BF16, p(64), nil) },
			"blocks onto themselves":          func() { o.Blocks(Q8_0, BF16, p(64), p(34)) },
			"blocks that overlap":             func() { m := p(200); o.Blocks(Q8_0, BF16, m[:64], m[63:97]) },
			"floats, a scale short":           func() { o.Float8(E4M3, BF16, p(192), q(96), scales, 32) },
			"floats, no run":                  func() { o.Float8(E4M3, BF16, p(192), q(96), scales, 0) },
			"floats, a format of other width": func() { o.Float8(E2M1, BF16, p(64), q(32), scales, 32) },
			"floats, a destination short":     func() { o.Float8(E5M2, F32, p(127), q(32), scales, 32) },
			"small floats, no zero points":    func() { o.Float8Shift(E5M2, BF16, p(128), q(64), Runs{scales, nil, 32}) },
			"columns, codes of three bits": func() {
				o.Columns(Columns{Bits: 3, Words: 1, Count: 1, Groups: make([]uint32, 8), Scales: scales[:1], Zeros: scales[:1], Room: scales}, BF16, p(16), q(4), 16, 4)
			},
			"bytes, no zero points or minima": func() { o.Bytes(Bytes{Op: Shift}, BF16, p(128), q(64), Runs{scales, nil, 32}) },
			"bytes, a minimum short":          func() { o.Bytes(Bytes{Op: Affine}, BF16, p(128), q(64), Runs{scales, scales[:1], 32}) },
			"bytes that overlap":              func() { m := p(300); o.Bytes(Bytes{}, F32, m[:256], m[200:264], Runs{scales, nil, 32}) },
			"nibbles, an odd run":             func() { o.Nibbles(Nibbles{Codebook: codebook}, BF16, p(64), q(16), Runs{scales, nil, 31}) },
			"nibbles, a source long":          func() { o.Nibbles(Nibbles{Codebook: codebook}, BF16, p(64), q(17), Runs{scales, nil, 32}) },
			"nibbles, half a number":          func() { o.Nibbles(Nibbles{Codebook: codebook}, BF16, p(63), q(16), Runs{scales, nil, 32}) },
			"half bytes, a source short":      func() { o.HalfBytes(HalfBytes{Codebook: codebook}, BF16, p(64), q(31), Runs{scales, scales, 32}) },
			"cast, a destination short":       func() { o.Cast(F32, BF16, p(62), q(128)) },
			"cast, half a number":             func() { o.Cast(F32, BF16, p(64), q(127)) },
			"cast onto itself":                func() { m := p(128); o.Cast(F32, F32, m, m) },
			"put, a destination short":        func() { o.Put(BF16, p(62), make([]float32, 32)) },
			"transpose, rows that overlap":    func() { o.Transpose(4, p(4096), q(4096), 32, 32, Strides{127, 128}) },
			"transpose, a source short":       func() { o.Transpose(4, p(4096), q(4095), 32, 32, Strides{128, 128}) },
			"transpose, a destination short":  func() { o.Transpose(4, p(4095), q(4096), 32, 32, Strides{128, 128}) },
			"transpose, numbers of three":     func() { o.Transpose(3, p(4096), q(4096), 32, 32, Strides{128, 128}) },
			"swap, a number short":            func() { o.Swap(8, p(64), q(72)) },
			"lanes, a stream short":           func() { o.Lanes(p(127), q(128), 32) },
			"spread, a byte long":             func() { o.Spread(p(65), q(32)) },
			"special, half a number":          func() { o.Special(BF16, q(33)) },
			"fields, a byte short":            func() { o.Fields(3, 0, p(32), q(11)) },
			"fields, a byte long":             func() { o.Fields(5, 0, p(32), q(21)) },
			"fields of a byte":                func() { o.Fields(8, 0, p(32), q(32)) },
			"fields onto themselves":          func() { m := p(64); o.Fields(6, 0, m[:32], m[31:55]) },
			"half bytes, above a byte": func() {
				o.HalfBytes(HalfBytes{From: 8, Codebook: codebook}, BF16, p(64), q(32), Runs{scales, scales, 32})
			},
			"absmax, a magnitude short":  func() { o.Absmax(make([]float32, 1), floatsOf(p(256)), 32) },
			"nearest, a scale short":     func() { o.Nearest(&Quantizer{}, p(48), floatsOf(q(384)), scales, 32) },
			"nearest, a run that is cut": func() { o.Nearest(&Quantizer{}, p(40), floatsOf(q(320)), scales, 64) },
			"int8, a code short":         func() { o.Int8(p(63), floatsOf(q(256)), scales, 32) },
			"E4M3, a code short":         func() { o.E4M3Times(p(63), floatsOf(q(256)), 2) },
			"row, half a block":          func() { o.EncodeRow(Q4_K, p(72), floatsOf(q(512)), nil) },
			"row, a byte short":          func() { o.EncodeRow(Q6_K, p(209), floatsOf(q(1024)), nil) },
			"row, a column short":        func() { o.EncodeRow(Q4_K, p(144), floatsOf(q(1024)), scales) },
			"columns, a group too high": func() {
				o.Columns(Columns{Bits: 4, Words: 1, Count: 1, Groups: []uint32{7: 1}, Scales: scales[:1], Zeros: scales[:1], Room: scales}, BF16, p(16), q(4), 16, 4)
			},
			"columns, no room": func() {
				o.Columns(Columns{Bits: 4, Words: 1, Count: 1, Groups: make([]uint32, 8), Scales: scales[:1], Zeros: scales[:1]}, BF16, p(16), q(4), 16, 4)
			},
			"each, a scale short":   func() { o.Each(BF16, p(64), floatsOf(q(128)), scales, make([]float32, 32)) },
			"each, a minimum short": func() { o.Each(F32, p(128), floatsOf(q(128)), make([]float32, 32), scales) },
			"each onto its scales": func() {
				m := p(256)
				o.Each(F32, m[:128], make([]float32, 32), floatsOf(m[100:228]), make([]float32, 32))
			},
			"expand, a number short":      func() { o.Expand(2, p(32), q(30), bytes.Repeat([]byte{0xFF}, 2)) },
			"expand, a number long":       func() { o.Expand(1, p(16), q(16), []byte{0xFF, 0x7F}) },
			"expand, bits behind the end": func() { o.Expand(1, p(15), q(16), []byte{0xFF, 0xFF}) },
			"expand, a mask short":        func() { o.Expand(4, p(64), q(32), []byte{0xFF}) },
			"expand, half a number":       func() { o.Expand(2, p(31), q(32), bytes.Repeat([]byte{0xFF}, 2)) },
			"expand, numbers of three":    func() { o.Expand(3, p(48), q(48), bytes.Repeat([]byte{0xFF}, 2)) },
			"expand onto its mask":        func() { m := p(24); o.Expand(1, m[:16], q(Ones(m[15:17])), m[15:17]) },
			"pick, a word short":          func() { o.Pick(3, 3, p(32), q(124)) },
			"pick, above a word":          func() { o.Pick(30, 3, p(32), q(128)) },
			"pick, more than a byte":      func() { o.Pick(0, 9, p(32), q(128)) },
		} {
			t.Run(fmt.Sprintf("%v/%s", level, name), func(t *testing.T) {
				defer func() {
					if text := fmt.Sprint(recover()); !strings.HasPrefix(text, "internal error: a kernel was called wrongly") {
						t.Errorf("got %s", text)
					}
				}()
				wrong()
			})
		}
	}
}

func withScalar(t *testing.T) map[Level]*Ops {
	all := tables(t)
	if os.Getenv("LEVELS") == "" {
		scalar := For(0)
		all[Generic] = &scalar
	}
	return all
}

// Odd addresses and empty calls are not wrong.
func TestEmptyCallsDoNothing(t *testing.T) {
	for level, o := range withScalar(t) {
		t.Run(level.String(), func(*testing.T) {
			for _, to := range types {
				o.Blocks(Q8_0, to, nil, nil)
				o.Float8(E4M3, to, nil, nil, nil, 32)
				o.Bytes(Bytes{Op: Shift}, to, nil, nil, Runs{nil, nil, 32})
				o.Nibbles(Nibbles{Codebook: new([16]float32)}, to, nil, nil, Runs{nil, nil, 32})
				o.Cast(F32, to, nil, nil)
				o.Put(to, nil, nil)
				o.Float8Shift(E4M3, to, nil, nil, Runs{nil, nil, 32})
				o.Each(to, nil, nil, nil, nil)
				o.Expand(to.Size(), nil, nil, nil)
				o.Special(to, nil)
			}
			o.Transpose(4, nil, nil, 0, 4, Strides{0, 16})
			o.Swap(2, nil, nil)
			o.Lanes(nil, nil, 0)
			o.Spread(nil, nil)
			o.Fields(3, 0, nil, nil)
			o.Pick(3, 3, nil, nil)
		})
	}
}

// A level says its name, and every field of the table is compared by a test of
// this package: a new one fails until it is listed here.
func TestLevelsHaveTheirNameAndEveryOperationIsCompared(t *testing.T) {
	for level, o := range tables(t) {
		if o.Level() != level {
			t.Errorf("%v calls itself %v", level, o.Level())
		}
	}
	compared := []string{"level", "blocks", "any", "exact", "float8", "bytes", "nibbles", "cast", "halfBytes", "transpose", "swap", "lanes", "spread", "fields", "pairs", "columns", "each", "pick", "expand", "special", "absmax", "nearest", "int8", "search", "rows", "e4m3Times", "e4m3Over", "e2m1Over"}
	for i := range reflect.TypeFor[Ops]().NumField() {
		if name := reflect.TypeFor[Ops]().Field(i).Name; !slices.Contains(compared, name) {
			t.Errorf("no test compares %s", name)
		}
	}
	if o := For(0); o.Level() != Generic {
		t.Errorf("the scalar table calls itself %v", o.Level())
	}
	if o := For(Features(0).with(avx512)); o.blocks[BF16][Q8_0] != nil && o.Level() == Generic {
		t.Error("kernels at no level")
	}
}

// The variable forces a level, and an unknown one is refused.
func TestTheVariableForcesALevel(t *testing.T) {
	for _, l := range Machine() {
		t.Setenv(variable, l.String())
		f, err := Forced()
		if o := For(f); err != nil || o.Level() != l {
			t.Errorf("%v: %v, %v", l, o.Level(), err)
		}
	}
	for _, name := range []string{"sse9", "AVX2 ", "avx512", "neon"} {
		has := false
		for _, l := range Machine() {
			has = has || l.String() == name
		}
		t.Setenv(variable, name)
		if _, err := Forced(); (err == nil) != has {
			t.Errorf("%s: %v", name, err)
		}
	}
}
