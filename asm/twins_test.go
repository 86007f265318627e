package asm

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// No two kernels differ only in their constants: each body, its constants,
// labels and offsets made equal, is there once. A technique that serves two
// types takes what differs from memory, or is listed here with what it is.
func TestNoTwoKernelsDifferOnlyInConstants(t *testing.T) {
	twins := map[string]string{}
	for _, name := range []string{"kernels_amd64.s", "kernels_avx512_amd64.s"} {
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
			body = numbersIn.ReplaceAllString(body, "N")
			if other, ok := seen[body]; ok {
				twins[other] += " " + kernel
				continue
			}
			seen[body] = kernel
		}
	}
	for kernel, others := range twins {
		t.Errorf("%s is also%s", kernel, others)
	}
}

// numbersIn finds constants: immediate ones, those in memory, and offsets.
var numbersIn = regexp.MustCompile(`\$0x[0-9a-f]+|k\d+<>|\$-?\d+|-?\d+\(|\b0x[0-9a-f]+\(`)
