package main

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/anamnesis-go/anamnesis/asm"
)

// goldenCols is the length of the rows of goldens, one for each fill.
const goldenCols = 512

// golden writes rows, matrix and what ggml makes of them.
func (p *peer) golden(folder string) error {
	rng := rand.New(rand.NewPCG(18, 1))
	src := make([]float32, len(fills)*goldenCols)
	for i, fill := range fills {
		fill(rng, src[i*goldenCols:][:goldenCols])
	}
	matrix := make([]float32, goldenCols)
	for i := range matrix {
		matrix[i] = float32(rng.ExpFloat64())
	}
	if err := write(folder, "rows.f32", src); err != nil {
		return err
	}
	if err := write(folder, "matrix.f32", matrix); err != nil {
		return err
	}
	for k := range asm.Kinds {
		if !k.Encodes() {
			continue
		}
		for name, m := range map[string][]float32{".bin": nil, "-matrix.bin": matrix} {
			if m == nil && k.NeedsMatrix() {
				continue
			}
			out, err := p.ask(k, src, m, len(fills), goldenCols)
			if err != nil {
				return err
			}
			if err := write(folder, k.String()+name, out); err != nil {
				return err
			}
		}
	}
	return nil
}

func write(folder, name string, data any) error {
	f, err := os.Create(filepath.Join(folder, name))
	if err != nil {
		return err
	}
	defer f.Close()
	return binary.Write(f, binary.LittleEndian, data)
}
