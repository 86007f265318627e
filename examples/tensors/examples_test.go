// The examples are held to their length, and run.
package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const demo = "../../testdata/demo/"

func TestExamplesRun(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	bin := t.TempDir()
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", bin+string(filepath.Separator), "../tensors", "../read", "../dequantize", "../scan", "../folder", "../convert")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, c := range []struct {
		name string
		args []string
		says string
	}{
		{"tensors", []string{demo + "tiny.gguf"}, `"token_embd.weight" Q8_0 [64 32]`},
		{"read", []string{demo + "model.safetensors", "embed.weight"}, "[96 16]: "},
		{"dequantize", []string{demo + "llama-fp8"}, "from FP8: "},
		{"scan", []string{demo + "checkpoint.pt", demo + "tiny.gguf"}, `tiny.gguf": ok`},
		{"folder", []string{demo + "sharded"}, `"accepted":true`},
		{"convert", []string{demo + "tiny.gguf", filepath.Join(t.TempDir(), "out.safetensors")}, " bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, err := os.ReadFile("../" + c.name + "/main.go")
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(text, []byte("\n")); n > 60 {
				t.Errorf("%d lines, more than 60", n)
			}
			out, err := exec.Command(filepath.Join(bin, c.name), c.args...).CombinedOutput()
			if err != nil || !strings.Contains(string(out), c.says) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
