// Command quantize compares our encoders of GGML's block types with ggml's own. It
// starts the program that ggml/refq.c becomes, sends both the same rows, and prints
// a row of results for each type, with a matrix and without, as JSON.
//
//	quantize REFQ ELEMENTS SEED [TYPE ...]
//	quantize REFQ golden FOLDER
//
// The second form writes the goldens of asm's tests: rows, a matrix, and the bytes
// that ggml makes of them.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"

	"github.com/anamnesis-go/anamnesis/asm"
)

// ggmlTypes are ggml's numbers of the types.
var ggmlTypes = map[asm.Kind]int32{
	asm.Q4_0: 2, asm.Q4_1: 3, asm.Q5_0: 6, asm.Q5_1: 7, asm.Q8_0: 8, asm.Q2_K: 10, asm.Q3_K: 11, asm.Q4_K: 12, asm.Q5_K: 13, asm.Q6_K: 14,
	asm.IQ2_XXS: 16, asm.IQ2_XS: 17, asm.IQ3_XXS: 18, asm.IQ1_S: 19, asm.IQ4_NL: 20, asm.IQ3_S: 21, asm.IQ2_S: 22, asm.IQ4_XS: 23, asm.IQ1_M: 29,
	asm.TQ1_0: 34, asm.TQ2_0: 35, asm.MXFP4: 39, asm.NVFP4: 40, asm.Q1_0: 41, asm.Q2_0: 42,
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "quantize:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("usage: quantize REFQ ELEMENTS SEED [TYPE ...]")
	}
	if args[1] == "golden" {
		p, err := start(args[0])
		if err != nil {
			return err
		}
		return p.golden(args[2])
	}
	elements, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	seed, err := strconv.ParseUint(args[2], 10, 64)
	if err != nil {
		return err
	}
	p, err := start(args[0])
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	var rows [][4]any
	for k := range asm.Kinds {
		if !k.Encodes() || len(args) > 3 && !slices.Contains(args[3:], k.String()) {
			continue
		}
		for _, matrix := range []bool{false, true} {
			if !matrix && k.NeedsMatrix() {
				continue
			}
			n, differ, err := p.compare(k, rng, elements, matrix)
			if err != nil {
				return err
			}
			name := k.String()
			if matrix {
				name += ", importance matrix"
			}
			rows = append(rows, [4]any{"encode " + name, "ggml without contraction", n, differ})
			fmt.Fprintf(os.Stderr, "%-28s %12d numbers %8d blocks differ\n", name, n, differ)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(rows)
}

// A peer is the reference as a process.
type peer struct {
	in  *bufio.Writer
	out *bufio.Reader
}

func start(path string) (*peer, error) {
	c := exec.Command(path)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &peer{bufio.NewWriterSize(in, 1<<20), bufio.NewReaderSize(out, 1<<20)}, c.Start()
}

// compare sends rows of every fill in turn, up to a number of elements, and counts the blocks
// that differ.
func (p *peer) compare(k asm.Kind, rng *rand.Rand, elements int, matrix bool) (n, differ int, err error) {
	for turn := 0; n < elements; turn++ {
		cols, rows := k.Elems()*(1+rng.IntN(16)), 8
		fill := fills[turn%len(fills)]
		src := make([]float32, rows*cols)
		for r := range rows {
			fill(rng, src[r*cols:][:cols])
		}
		var weights []float32
		if matrix {
			weights = make([]float32, cols)
			for i := range weights {
				weights[i] = float32(rng.ExpFloat64())
			}
		}
		want, err := p.ask(k, src, weights, rows, cols)
		if err != nil {
			return n, differ, err
		}
		got := make([]byte, len(want))
		size := len(want) / rows
		for r := range rows {
			asm.Best().EncodeRow(k, got[r*size:][:size], src[r*cols:][:cols], weights)
		}
		for b := 0; b < len(want); b += k.Bytes() {
			if !slices.Equal(want[b:][:k.Bytes()], got[b:][:k.Bytes()]) {
				if differ == 0 {
					fmt.Fprintf(os.Stderr, "%v, fill %d:\nggml %x\nours %x\n", k, turn%len(fills), want[b:][:k.Bytes()], got[b:][:k.Bytes()])
				}
				differ++
			}
		}
		n += len(src)
	}
	return n, differ, nil
}

func (p *peer) ask(k asm.Kind, src, matrix []float32, rows, cols int) ([]byte, error) {
	head := []int32{ggmlTypes[k], int32(rows), int32(cols), int32(min(len(matrix), 1))}
	for _, part := range []any{head, src, matrix} {
		if err := binary.Write(p.in, binary.LittleEndian, part); err != nil {
			return nil, err
		}
	}
	if err := p.in.Flush(); err != nil {
		return nil, err
	}
	out := make([]byte, rows*cols/k.Elems()*k.Bytes())
	_, err := io.ReadFull(p.out, out)
	return out, err
}
