// Command benchencode measures our encoders for run.py: each line of standard input names a type
// and whether columns have importance; the answer is millions of elements a second, the best
// of many short runs over rows of 4096 numbers as models have them. With "memory" in the place
// of "plain" the rows are those of one large matrix in main memory, and codes are written to a row that
// stays in the cache, as conversions do; with "both" codes go to main memory too, which the system has
// given before; with "bf16" the matrix is BF16, and each row is widened first. The type "read" is what
// reading alone takes.
package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/asm"
)

const (
	cols = 4096
	rows = 32       // in rotation
	most = 16 << 10 // rows that fill no cache
)

func main() {
	numbers, matrix := make([]float32, rows*cols), make([]float32, cols)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range numbers {
		numbers[i] = float32(0.02 * rng.NormFloat64())
	}
	for i := range matrix {
		matrix[i] = float32(rng.ExpFloat64())
	}
	var large matrices
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		f := strings.Fields(in.Text())
		weights := matrix
		if f[1] != "matrix" {
			weights = nil
		}
		encode := encoder(f[0], weights)
		if encode == nil {
			fmt.Println("0.00")
			continue
		}
		dst, row, n := make([]byte, 2*cols), make([]float32, cols), rows
		run := func(at int) { encode(dst, numbers[at*cols:][:cols]) }
		if f[1] == "memory" || f[1] == "both" || f[1] == "bf16" {
			large.fill(numbers)
			n = most
		}
		switch f[1] {
		case "memory":
			run = func(at int) { encode(dst, large.source[at*cols:][:cols]) }
		case "both":
			run = func(at int) { encode(large.target[2*at*cols:][:2*cols], large.source[at*cols:][:cols]) }
		case "bf16":
			run = func(at int) {
				asm.Best().Cast(asm.BF16, asm.F32, asm.Raw(row), large.halves[2*at*cols:][:2*cols])
				encode(dst, row)
			}
		}
		fmt.Printf("%.2f\n", measure(run, n))
	}
}

// matrices are in main memory; each page was written before.
type matrices struct {
	source         []float32
	halves, target []byte
}

func (m *matrices) fill(numbers []float32) {
	for len(m.source) < most*cols {
		half := make([]byte, 2*len(numbers))
		asm.Best().Cast(asm.F32, asm.BF16, half, asm.Raw(numbers))
		m.source, m.halves, m.target = append(m.source, numbers...), append(m.halves, half...), append(m.target, half...)
	}
}

// measure runs rows in turn.
func measure(run func(at int), n int) float64 {
	best, calls, at := 0.0, 1, 0
	for tries := 0; tries < 40; {
		begin := time.Now()
		for range calls {
			run(at)
			at = (at + 1) % n
		}
		took := time.Since(begin)
		if took < 200*time.Microsecond {
			calls *= 2
			continue
		}
		best = max(best, float64(calls*cols)/float64(took.Microseconds()))
		tries++
	}
	return best
}

// encoder finds what a name measures: one row.
func encoder(name string, matrix []float32) func(dst []byte, row []float32) {
	o := asm.Best()
	for k := range asm.Kinds {
		if k.String() == name && k.Encodes() && (matrix != nil || !k.NeedsMatrix()) {
			return func(dst []byte, row []float32) { o.EncodeRow(k, dst[:cols/k.Elems()*k.Bytes()], row, matrix) }
		}
	}
	most := make([]float32, cols/64)
	switch name {
	case "FP8-blocks":
		return func(dst []byte, row []float32) {
			o.Absmax(most[:cols/128], row, 128)
			for i, m := range most[:cols/128] {
				o.E4M3Times(dst[128*i:][:128], row[128*i:][:128], 1/m*448)
			}
		}
	case "FP8-rows":
		return func(dst []byte, row []float32) {
			o.Absmax(most[:1], row, cols)
			o.E4M3Over(dst[:cols], row, most[0]/448, asm.BF16)
		}
	case "NF4":
		return func(dst []byte, row []float32) {
			o.Absmax(most, row, 64)
			o.Nearest(nf4, dst[:cols/2], row, most, 64)
		}
	case "read":
		return func(_ []byte, row []float32) { o.Absmax(most[:1], row, cols) }
	case "INT8-rows":
		return func(dst []byte, row []float32) {
			o.Absmax(most[:1], row, cols)
			o.Int8(dst[:cols], row, most[:1], cols)
		}
	}
	return nil
}

// nf4 goes by the bounds of bitsandbytes' table.
var nf4 = asm.NewQuantizer([15]float32{-0.8480964, -0.6106329, -0.45999527, -0.33967942, -0.2346074, -0.13791174, -0.045525018, 0.03979015,
	0.12025525, 0.20352125, 0.29201376, 0.38931254, 0.50166345, 0.6427869, 0.86147845},
	[16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, 1e-38)
