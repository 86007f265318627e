package asm

import (
	"os"
	"regexp"
	"testing"
)

// The kernels of AVX2 name none of the registers and masks that came with
// AVX-512: the generator takes those, and says nothing, where others run out.
func TestKernelsOfAVX2NameItsRegistersAlone(t *testing.T) {
	if os.Getenv("LEVELS") != "" {
		t.Skip("the texts are not where the emulator is, and the same everywhere")
	}
	text, err := os.ReadFile("kernels_amd64.s")
	if err != nil {
		t.Fatal(err)
	}
	if len(vectorsIn.FindAll(text, 2)) == 0 {
		t.Fatal("no vector registers in kernels_amd64.s")
	}
	for _, r := range newerIn.FindAll(text, 8) {
		t.Errorf("register %s", r)
	}
}

var (
	vectorsIn = regexp.MustCompile(`\b[XY](\d|1[0-5])\b`)
	newerIn   = regexp.MustCompile(`\b([XY](1[6-9]|2\d|3[01])|Z\d+|K[0-7])\b`)
)
