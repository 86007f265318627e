// Command peers measures our kernels for run.py: each line of standard input
// names an entry and a file of 32 sources; the answer is billions of elements a
// second, the best of many short runs that rotate over the sources.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/asm"
)

const (
	sources = 32
	elems   = 64 << 10
)

func main() {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		f := strings.Fields(in.Text())
		rate := 0.0
		if f[0] == "level" {
			fmt.Println(asm.Best().Level())
			continue
		}
		if data, err := os.ReadFile(f[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
		} else {
			rate = measure(f[0], data)
		}
		fmt.Println(strconv.FormatFloat(rate, 'f', 3, 64))
	}
}

// measure returns 0 for an unknown entry.
func measure(name string, data []byte) float64 {
	run := entry(name)
	if run == nil {
		return 0
	}
	size, dst := len(data)/sources, make([]byte, 4*elems)
	best, i := 0.0, 0
	for range 40 {
		const calls = 8
		begin := time.Now()
		for range calls {
			run(dst, data[i%sources*size:][:size])
			i++
		}
		best = max(best, calls*elems/float64(time.Since(begin).Nanoseconds()))
	}
	return best
}

// entry finds what a name like "Q4_K/BF16" measures.
func entry(name string) func(dst, src []byte) {
	what, to, _ := strings.Cut(name, "/")
	t := map[string]asm.Type{"F32": asm.F32, "BF16": asm.BF16, "F16": asm.F16}[to]
	o := asm.Best()
	for k := range asm.Kinds {
		if k.String() == what {
			return func(dst, src []byte) { o.Blocks(k, t, dst[:elems*t.Size()], src) }
		}
	}
	scales, numbers := make([]float32, 4096), make([]float32, elems)
	for i := range scales {
		scales[i] = float32(i%97+3) / 4096
	}
	for i := range numbers {
		numbers[i] = float32(i*7919%9973)/9973 - 0.5
	}
	last, codebook := float32(0.007874015718698502), &[16]float32{-1, -0.6961928, -0.52507305, -0.3949175, -0.28444138, -0.18477343,
		-0.091050036, 0, 0.0795803, 0.1609302, 0.2461123, 0.33791524, 0.44070983, 0.562617, 0.72295684, 1}
	quantizer := asm.NewQuantizer(between(codebook), [16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, 1e-38)
	switch what {
	case "FP8":
		return func(dst, src []byte) { o.Float8(asm.E4M3, t, dst[:elems*t.Size()], src, scales, 128) }
	case "INT8":
		return func(dst, src []byte) {
			o.Bytes(asm.Bytes{Last: &last}, t, dst[:elems*t.Size()], src, asm.Runs{Scales: scales, Length: 4096})
		}
	case "NF4":
		return func(dst, src []byte) {
			o.Nibbles(asm.Nibbles{High: true, Codebook: codebook}, t, dst[:elems*t.Size()], src, asm.Runs{Scales: scales, Length: 64})
		}
	case "encode-NF4":
		return func(dst, _ []byte) {
			o.Absmax(scales[:elems/64], numbers, 64)
			o.Nearest(quantizer, dst[:elems/2], numbers, scales, 64)
		}
	}
	if to == "BF16" {
		return packed(what)
	}
	return nil
}

// between is what lies between neighbours.
func between(codebook *[16]float32) (b [15]float32) {
	for i := range b {
		b[i] = (codebook[i] + codebook[i+1]) / 2
	}
	return b
}
