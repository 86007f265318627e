package convert_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// e4m3 is a number of four bits of exponent and three of fraction.
func e4m3(code byte) float64 {
	exponent, fraction := int(code>>3&15), float64(code&7)
	v := math.Ldexp(fraction/8, -6)
	if exponent > 0 {
		v = math.Ldexp(1+fraction/8, exponent-7)
	}
	if code&0x7F == 0x7F {
		v = math.NaN()
	}
	if code>>7 != 0 {
		return -v
	}
	return v
}

// Blocks of FP8 whose scales give NaN, infinities, and numbers that only float32 holds: each is
// counted by its kind, for every target, any number of workers and any tile.
func TestNaNAndInfinitiesAreCounted(t *testing.T) {
	const rows, cols, block = 512, 384, 128
	scales := []float32{1, 300, float32(math.NaN()), 1, 1, float32(math.Inf(-1)), 3e38, 1, 0x1.FEp127 / 448, 1e-40, 0x1.FF8p119 / 1.75, 1}
	codes := make([]byte, rows*cols)
	for i := range codes {
		codes[i] = byte(i*i/7+i/3) &^ 1 // no code is NaN itself
	}
	m, b := inFP8(t, rows, cols, codes, scales)
	for to, most := range map[quant.Target]float64{quant.F16: 65520, quant.BF16: 0x1.FFp127, quant.F32: math.Inf(1)} {
		want := convert.Special{Name: "l.weight"}
		for i, c := range codes {
			scale := scales[i/cols/block*(cols/block)+i%cols/block]
			full := float64(float32(float32(e4m3(c)) * scale))
			switch {
			case math.IsNaN(full):
				want.NaN++
			case math.IsInf(full, 0):
				want.Inf++
			case math.Abs(full) >= most:
				want.Overflow++
			}
		}
		if want.NaN == 0 || want.Inf == 0 || (want.Overflow == 0) != (to == quant.F32) {
			t.Fatalf("the case shows nothing: %+v", want)
		}
		for _, threads := range []int{1, 3} {
			for _, tile := range []int{1, 5000, 1 << 20} {
				t.Run(fmt.Sprint(to, " ", threads, " ", tile), func(t *testing.T) {
					p, err := convert.NewPlan(b, m, convert.Options{Quant: quant.Options{Target: to}, Threads: threads, Tile: tile})
					if err != nil {
						t.Fatal(err)
					}
					out := converttest.NewMemory(p.Size)
					for range 2 { // a stream forgets what another one counted
						r, err := p.Stream(out)
						if err != nil {
							t.Fatal(err)
						}
						if diff := cmp.Diff([]convert.Special{want}, r.Special); diff != "" {
							t.Error(diff)
						}
						if r.Failed() != (want.Overflow > 0) {
							t.Error("failed:", r.Failed())
						}
					}
					got := out.Bytes[p.Size-rows*cols*int64(to.Size()):]
					decoded := make([]byte, len(got))
					if err := quant.Decode(b, m, p.Weights[0], decoded, to); err != nil {
						t.Fatal(err)
					}
					if !bytes.Equal(decoded, got) {
						t.Error("other bytes than the scheme decodes")
					}
				})
			}
		}
	}
}

// An option makes a conversion fail if numbers overflow: the target is then unchanged, and nothing
// is left beside it.
func TestAFailureOnOverflowLeavesTheTarget(t *testing.T) {
	const rows, cols = 128, 128
	codes, old := bytes.Repeat([]byte{0x7E}, rows*cols), "\x02\x00\x00\x00\x00\x00\x00\x00{}"
	for scale, class := range map[float32]parser.Class{1: parser.OK, 1000: parser.Unsupported} {
		m, b := inFP8(t, rows, cols, codes, []float32{scale})
		p, err := convert.NewPlan(b, m, convert.Options{Quant: quant.Options{Target: quant.F16}, FailOnOverflow: true})
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		target := filepath.Join(dir, "out")
		if err := os.WriteFile(target, []byte(old), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err = p.Write(target, true)
		if got := parser.ClassOf(err); got != class {
			t.Errorf("scale %v: %v, want %v: %v", scale, got, class, err)
		}
		now, readErr := os.ReadFile(target)
		list, listErr := os.ReadDir(dir)
		if readErr != nil || listErr != nil || len(list) != 1 || (string(now) == old) != (class != parser.OK) {
			t.Errorf("scale %v: %d bytes, %v, %v, %v", scale, len(now), list, readErr, listErr)
		}
	}
}

// inFP8 is one weight of E4M3 in blocks of 128.
func inFP8(t *testing.T, rows, cols int64, codes []byte, scales []float32) (tensor.Model, *limits.Budget) {
	t.Helper()
	b := converttest.Account(t)
	p, err := safetensors.Layout(b, []tensor.Info{
		{Name: "l.weight", DType: tensor.F8E4M3, Shape: []int64{rows, cols}},
		{Name: "l.weight_scale_inv", DType: tensor.F32, Shape: []int64{rows / 128, cols / 128}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	file := make([]byte, p.Size)
	copy(file, p.Header)
	copy(file[p.Offsets[0]:], codes)
	for i, s := range scales {
		binary.LittleEndian.PutUint32(file[p.Offsets[1]+4*int64(i):], math.Float32bits(s))
	}
	m, err := safetensors.Decode(b, bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return m, b
}
