// Command decode binds the quantized weights of models and writes their
// numbers, for comparison with what a reference library computes.
//
//	decode TARGET OUT MODEL...
//
// For each model it prints one JSON object: path, error, and per weight name,
// shape, scheme and the file in OUT that holds its numbers.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/quant"
)

type result struct {
	Path    string   `json:"path"`
	Error   string   `json:"error,omitempty"`
	Weights []weight `json:"weights,omitempty"`
	Plain   []string `json:"plain,omitempty"`
}

type weight struct {
	Name   string  `json:"name"`
	Shape  []int64 `json:"shape"`
	Scheme string  `json:"scheme"`
	Layout string  `json:"layout"`
	File   string  `json:"file"`
}

func main() {
	as := flag.String("as", "", "whose arithmetic: mlx")
	flag.Parse()
	args := flag.Args()
	if len(args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: decode [--as mlx] bf16|f16|f32 OUT MODEL...")
		os.Exit(2)
	}
	target, err := quant.ParseTarget(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	out := json.NewEncoder(os.Stdout)
	for i, path := range args[2:] {
		r := result{Path: path}
		if err := r.decode(quant.Options{Target: target, As: *as}, filepath.Join(args[1], fmt.Sprint(i))); err != nil {
			r.Error = err.Error()
		}
		if err := out.Encode(r); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func (r *result) decode(o quant.Options, prefix string) error {
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(context.Background())
	defer b.Close()
	m, err := parser.Open(b, r.Path)
	if err != nil {
		return err
	}
	defer m.Close()
	bound, err := quant.Plan(b, m, o)
	if err != nil {
		return err
	}
	for _, i := range bound.Plain {
		r.Plain = append(r.Plain, i.Name)
	}
	for i, w := range bound.Weights {
		dst := make([]byte, w.Size(o.Target))
		if err := quant.Decode(b, m, w, dst, o.Target); err != nil {
			return err
		}
		file := fmt.Sprintf("%s-%d.bin", prefix, i)
		if err := os.WriteFile(file, dst, 0o644); err != nil {
			return err
		}
		r.Weights = append(r.Weights, weight{w.Name, w.Shape, w.Scheme, w.Layout, file})
	}
	return nil
}
