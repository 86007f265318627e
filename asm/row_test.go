package asm

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

const encoded = "../testdata/quant/ggml-encode/"

func readFloats(t *testing.T, name string) []float32 {
	t.Helper()
	data, err := os.ReadFile(encoded + name)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float32, len(data)/4)
	if err := binary.Read(bytes.NewReader(data), binary.LittleEndian, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Rows of every kind, written by ggml built without contraction
// (crosscheck/quantize, llama-cpp-python 0.3.36).
func TestRowsAreEncodedAsGGMLDoes(t *testing.T) {
	if os.Getenv("LEVELS") != "" {
		t.Skip("of the scalar functions")
	}
	rows, matrix := readFloats(t, "rows.f32"), readFloats(t, "matrix.f32")
	cols, kindsSeen := len(matrix), 0
	for k := range Kinds {
		if !k.Encodes() {
			continue
		}
		kindsSeen++
		size := cols / k.Elems() * k.Bytes()
		for _, c := range []struct {
			file   string
			matrix []float32
		}{{".bin", nil}, {"-matrix.bin", matrix}} {
			if c.matrix == nil && k.NeedsMatrix() {
				continue
			}
			want, err := os.ReadFile(encoded + k.String() + c.file)
			if err != nil {
				t.Fatal(err)
			}
			if len(want) != len(rows)/cols*size || len(want) == 0 {
				t.Fatalf("%v: %d bytes", k, len(want))
			}
			got := make([]byte, size)
			for r := range len(rows) / cols {
				k.EncodeRow(got, rows[r*cols:][:cols], c.matrix)
				if !bytes.Equal(got, want[r*size:][:size]) {
					t.Errorf("%v%s: row %d differs", k, c.file, r)
				}
			}
		}
	}
	if kindsSeen < 25 {
		t.Errorf("only %d types are encoded", kindsSeen)
	}
}

// A row's blocks do not depend on the rows beside it, and what is decoded and encoded
// again is the same for types whose codes are nearest numbers.
func TestEncodingWhatWasDecoded(t *testing.T) {
	rows := readFloats(t, "rows.f32")[:512]
	for _, k := range []Kind{Q8_0, TQ1_0, TQ2_0, Q1_0} {
		once := make([]byte, len(rows)/k.Elems()*k.Bytes())
		k.EncodeRow(once, rows, nil)
		back := make([]float32, len(rows))
		k.Decode(back, once)
		again := make([]byte, len(once))
		k.EncodeRow(again, back, nil)
		if k != Q8_0 && !bytes.Equal(once, again) {
			t.Errorf("%v: encoding what was decoded gives other bytes", k)
		}
		for i, v := range back {
			if d := float64(v - rows[i]); k == Q8_0 && (d > 0.001 || d < -0.001) {
				t.Errorf("Q8_0: number %d is %g off", i, d)
			}
		}
	}
}

func TestRowsThatDoNotFitPanic(t *testing.T) {
	for name, call := range map[string]func(){
		"half a block":    func() { Q4_0.EncodeRow(make([]byte, 18), make([]float32, 16), nil) },
		"too few bytes":   func() { Q4_0.EncodeRow(make([]byte, 17), make([]float32, 32), nil) },
		"a short matrix":  func() { Q4_0.EncodeRow(make([]byte, 18), make([]float32, 32), make([]float32, 31)) },
		"too many bytes":  func() { Q4_0.EncodeRow(make([]byte, 36), make([]float32, 32), nil) },
		"half a K block ": func() { Q4_K.EncodeRow(make([]byte, 72), make([]float32, 128), nil) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			call()
		})
	}
}

type rowFill struct {
	name string
	set  func(rng *rand.Rand, x []float32)
}

// rowFills are numbers as models have them, and others that are finite.
var rowFills = []rowFill{
	{"normal", func(rng *rand.Rand, x []float32) {
		for i := range x {
			x[i] = float32(0.02 * rng.NormFloat64())
		}
	}},
	{"far off zero", func(rng *rand.Rand, x []float32) {
		for i := range x {
			x[i] = float32(3 + 0.02*rng.NormFloat64())
		}
	}},
	{"groups of other sizes", func(rng *rand.Rand, x []float32) {
		for i := range x {
			x[i] = float32(math.Ldexp(rng.NormFloat64(), -(i/16*7)%40))
		}
	}},
	{"one outlier", func(rng *rand.Rand, x []float32) {
		for i := range x {
			x[i] = float32(1e-4 * rng.NormFloat64())
		}
		x[rng.IntN(len(x))] = float32(100 * rng.NormFloat64())
	}},
	{"few values", func(rng *rand.Rand, x []float32) {
		for i := range x {
			x[i] = []float32{0, negativeZero, 1, -1, 0.5, -0.25}[rng.IntN(6)]
		}
	}},
	{"zeros between", func(rng *rand.Rand, x []float32) {
		for i := range x {
			if x[i] = 0; i/16%3 > 0 {
				x[i] = float32(rng.NormFloat64())
			}
		}
	}},
	{"constant", func(rng *rand.Rand, x []float32) {
		c := float32(rng.NormFloat64())
		for i := range x {
			x[i] = c
		}
	}},
	{"zeros", func(_ *rand.Rand, x []float32) { clear(x) }},
	{"zeros below", func(_ *rand.Rand, x []float32) {
		for i := range x {
			x[i] = negativeZero
		}
	}},
	{"tiny", func(rng *rand.Rand, x []float32) {
		for i := range x {
			x[i] = math.Float32frombits(rng.Uint32() & 0x807FFFFF)
		}
	}},
	{"small", func(rng *rand.Rand, x []float32) {
		for i := range x {
			x[i] = float32(1e-9 * rng.NormFloat64())
		}
	}},
	{"large", func(rng *rand.Rand, x []float32) {
		for i := range x {
			x[i] = float32(1e17 * rng.NormFloat64())
		}
	}},
	{"one that overflows in sums", func(rng *rand.Rand, x []float32) {
		for at := 0; at < len(x); at += 32 {
			x[at+rng.IntN(32)] = float32(math.Ldexp(rng.NormFloat64(), 60+rng.IntN(6)))
		}
	}},
	{"any finite", func(rng *rand.Rand, x []float32) {
		for i := range x {
			for {
				if x[i] = math.Float32frombits(rng.Uint32()); x[i]-x[i] == 0 {
					break
				}
			}
		}
	}},
}

// Every level writes the bytes of the scalar functions, for rows of any number of blocks,
// on memory that faults behind the last byte.
func TestRowsAgreeWithTheScalarFunctions(t *testing.T) {
	grids := []Kind{IQ1_S, IQ1_M, IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S}
	for level, o := range tables(t) {
		below := inherits(level, func(o *Ops) any { return o.search.levels }) && inherits(level, func(o *Ops) any { return o.search.fits }) &&
			inherits(level, func(o *Ops) any { return o.search.near[2] }) && inherits(level, func(o *Ops) any { return o.search.near[3] })
		for k := range Kinds {
			if !k.Encodes() || below && slices.Contains(grids, k) {
				continue
			}
			t.Run(level.String()+"/"+k.String(), func(t *testing.T) {
				lacks(t, !o.encodes(k))
				rng := rand.New(rand.NewPCG(7, uint64(k)))
				rounds := 6
				if testing.Short() {
					rounds = 2
				}
				if os.Getenv("LEVELS") != "" { // emulated
					rounds = 1
				}
				for _, fill := range rowFills {
					for round := range rounds {
						agreesOnRow(t, o, k, rng, fill, []int{19, 4, 1, 2, 3, 35}[round]) // searches take sixteen at once
					}
				}
			})
		}
	}
}

func agreesOnRow(t *testing.T, o *Ops, k Kind, rng *rand.Rand, fill rowFill, blocks int) {
	t.Helper()
	x := make([]float32, blocks*k.Elems())
	fill.set(rng, x)
	matrix := make([]float32, len(x))
	for i := range matrix {
		if matrix[i] = float32(rng.ExpFloat64()); rng.IntN(8) == 0 {
			matrix[i] = 0
		}
	}
	for _, m := range [][]float32{nil, matrix} {
		if m != nil || !k.NeedsMatrix() {
			c := call{fill.name, func(o *Ops, dst, src []byte) { o.EncodeRow(k, dst, floatsOf(src), m) }}
			same(t, o, c, Raw(x), blocks*k.Bytes())
		}
	}
}
