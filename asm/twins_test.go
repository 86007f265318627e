package asm

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// No two kernels of a level differ only in their constants: each body, its constants,
// labels, registers and offsets made equal, is there once, but for those listed.
func TestNoTwoKernelsDifferOnlyInConstants(t *testing.T) {
	// What would be read from memory in place of a constant, and why it is not.
	alike := map[string]string{
		// Three shuffles of eight instructions, of which one is the order.
		"swap2AVX2": "swap4AVX2 swap8AVX2",
		// The size of a block and the place of its codes: offsets of each load.
		"q8_0F32AVX2":        "q8_1F32AVX2",
		"q8_0BF16AVX2":       "q8_1BF16AVX2",
		"q8_0F16AVX2":        "q8_1F16AVX2",
		"q8_0F32AVX512":      "q8_1F32AVX512",
		"q8_0BF16AVX512":     "q8_1BF16AVX512",
		"q8_0BF16AVX512BF16": "q8_1BF16AVX512BF16",
		"q8_0F16AVX512":      "q8_1F16AVX512",
		// The sixteen values, which are loaded for each block.
		"q4_0F32AVX2": "iq4_NLF32AVX2",
		"q4_0F16AVX2": "iq4_NLF16AVX2",
		// Three masks that stay in registers.
		"specialBF16AVX2": "specialF16AVX2",
	}
	if os.Getenv("LEVELS") != "" {
		t.Skip("the texts are not where the emulator is, and the same everywhere")
	}
	twins := map[string]string{}
	for _, name := range []string{"kernels_amd64.s", "kernels_avx512_amd64.s", "kernels_bf16_amd64.s"} {
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
			body = registersIn.ReplaceAllStringFunc(body, func(r string) string {
				if names[r] == "" {
					names[r] = fmt.Sprint("R", len(names))
				}
				return names[r]
			})
			body = numbersIn.ReplaceAllString(body, "N")
			if other, ok := seen[body]; ok {
				twins[other] += " " + kernel
				continue
			}
			seen[body] = kernel
		}
	}
	for kernel, others := range twins {
		if alike[kernel] != others[1:] {
			t.Errorf("%s is also%s", kernel, others)
		}
		delete(alike, kernel)
	}
	for kernel, others := range alike {
		t.Errorf("%s and %s are no longer alike", kernel, others)
	}
}

// registersIn finds registers, which are renamed in the order of their use.
var registersIn = regexp.MustCompile(`\b([XYZK]\d+|R\d+|[ABCD][XLH]|[SD]I|[SB]P)\b`)

// numbersIn finds constants: immediate ones, those in memory, and offsets.
var numbersIn = regexp.MustCompile(`\$0x[0-9a-f]+|k\d+<>|\$-?\d+|-?\d+\(|\b0x[0-9a-f]+\(`)
