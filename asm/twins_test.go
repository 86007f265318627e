package asm

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// No two kernels of a level differ only in their constants: each body, its constants,
// labels, registers and offsets made equal, is there once.
func TestNoTwoKernelsDifferOnlyInConstants(t *testing.T) {
	if os.Getenv("LEVELS") != "" {
		t.Skip("the texts are not where the emulator is, and the same everywhere")
	}
	for _, name := range []string{"kernels_amd64.s", "kernels_avx512_amd64.s", "kernels_arm64.s"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]string{}
		for _, body := range strings.Split(string(text), "\nTEXT ·")[1:] {
			kernel, body, _ := strings.Cut(body, "(")
			_, body, _ = strings.Cut(body, "\n")
			if body, _, _ = strings.Cut(body, "\n// func "); len(body) == 0 {
				continue
			}
			body, _, _ = strings.Cut(body, "\nDATA ") // constants, written where they are used first
			names := map[string]string{}
			body = namesIn.ReplaceAllStringFunc(body, func(r string) string {
				r = strings.TrimSuffix(r, ":")
				if names[r] == "" {
					names[r] = fmt.Sprint("R", len(names))
				}
				return names[r]
			})
			body = numbersIn.ReplaceAllString(body, "N")
			if other, ok := seen[body]; ok {
				t.Errorf("%s differs from %s by constants alone", kernel, other)
			}
			seen[body] = kernel
		}
	}
}

// namesIn finds registers, labels and parameters, which are renamed in the order of their use.
var namesIn = regexp.MustCompile(`\b([XYZKV]\d+|R\d+|[ABCD][XLH]|[SD]I|[SB]P)\b|(?m:^\w+:|\w+$)|\w+\+\d+\(FP\)`)

// numbersIn finds constants: immediate ones, those in memory and variables, and offsets.
var numbersIn = regexp.MustCompile(`\$-?(0x[0-9a-f]+|\d+)|(k\d+<>|·\w+)(\+\d+)?\(SB\)|(-?\d+|0x[0-9a-f]+)?\(`)

// A kernel says first what it computes, in three lines of pseudo-code.
func TestKernelsSayWhatTheyCompute(t *testing.T) {
	if os.Getenv("LEVELS") != "" {
		t.Skip("the texts are not where the emulator is, and the same everywhere")
	}
	kernels := 0
	for _, name := range []string{"kernels_amd64.s", "kernels_avx512_amd64.s", "kernels_arm64.s"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, body := range strings.Split(string(text), "\nTEXT ·")[1:] {
			kernels++
			head, body, _ := strings.Cut(body, "\n")
			kernel, _, _ := strings.Cut(head, "(")
			said := 0
			for line := range strings.Lines(body) {
				if !strings.HasPrefix(line, "\t//") {
					break
				}
				said++
			}
			if said < 3 {
				t.Errorf("%s: %s begins with %d lines of what it computes", name, kernel, said)
			}
		}
	}
	if kernels < 200 {
		t.Errorf("%d kernels found", kernels)
	}
}
