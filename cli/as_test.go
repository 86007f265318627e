package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// MLX's arithmetic is another one where its scales are of 16 bits, and none that a
// model of another library can be asked for.
func TestAsMLXRefusesModelsOfOtherLibraries(t *testing.T) {
	const from = "../quant/mlx/testdata/mlx-affine-4-bits-as-bfloat16/model.safetensors"
	dir := t.TempDir()
	var bodies [2][]byte
	for i, args := range [][]string{{"dequantize", "--as", "mlx"}, {"dequantize"}} {
		out := filepath.Join(dir, args[len(args)-1]+".safetensors")
		if r := amn(t, nil, append(args, "-o", out, from)...); r.code != 0 {
			t.Fatalf("%v: %+v", args, r)
		}
		body, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		bodies[i] = body
	}
	if len(bodies[0]) != len(bodies[1]) || bytes.Equal(bodies[0], bodies[1]) {
		t.Error("--as mlx has no effect")
	}
	for _, args := range [][]string{
		{"dequantize", "--as", "mlx", "../testdata/demo/tiny.gguf"},
		{"convert", "--to", "gguf", "--as", "mlx", "--dry-run", "../testdata/demo/model.safetensors"},
		{"stats", "--as", "mlx", "../testdata/demo/model.safetensors"},
	} {
		if r := amn(t, nil, args...); r.code == 0 || !strings.Contains(r.err, "--as: no weight is quantized by MLX") {
			t.Errorf("%v: %+v", args, r)
		}
	}
}
