package asm

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The kernels of AVX2 name none of the registers and masks that came with
// AVX-512: the generator takes those, and says nothing, where others run out.
func TestKernelsOfAVX2UseOnlyItsRegisters(t *testing.T) {
	if os.Getenv("LEVELS") != "" {
		t.Skip("the texts are not where the emulator is, and the same everywhere")
	}
	text, err := os.ReadFile("kernels_amd64.s")
	if err != nil {
		t.Fatal(err)
	}
	if len(vectorsIn.FindAll(text, 2)) == 0 {
		t.Fatal("no vector registers are found")
	}
	for _, r := range newerIn.FindAll(text, 8) {
		t.Errorf("register %s", r)
	}
}

var (
	vectorsIn = regexp.MustCompile(`\b[XY](\d|1[0-5])\b`)
	newerIn   = regexp.MustCompile(`\b([XY](1[6-9]|2\d|3[01])|Z\d+|K[0-7])\b`)
)

// Kernels use no instruction that the level which they are of does not ask the
// processor for. CMOV, and PREFETCHT0, which avo lists as MMX+, are of every
// processor of the kind.
func TestKernelsRequireWhatTheirLevelAsksFor(t *testing.T) {
	if os.Getenv("LEVELS") != "" {
		t.Skip("the texts are not where the emulator is, and the same everywhere")
	}
	has := []string{"CMOV", "MMX+", "AVX", "AVX2", "F16C", "FMA3", "POPCNT", "BMI", "BMI2"}
	for _, level := range []struct {
		file, suffix string
		more         []string
	}{
		{"kernels_amd64.s", "AVX2", nil},
		{"kernels_avx512_amd64.s", "AVX512", []string{"AVX512F", "AVX512BW", "AVX512VL", "AVX512DQ", "AVX512VBMI"}},
	} {
		has = append(has, level.more...)
		text, err := os.ReadFile(level.file)
		if err != nil {
			t.Fatal(err)
		}
		lists := 0
		for _, list := range requiredIn.FindAllSubmatch(text, -1) {
			if !bytes.HasSuffix(list[1], []byte(level.suffix)) {
				continue
			}
			lists++
			for set := range strings.SplitSeq(string(list[2]), ", ") {
				if !slices.Contains(has, set) {
					t.Errorf("%s requires %s", list[1], set)
				}
			}
		}
		if lists == 0 {
			t.Errorf("no kernel of %s says what it requires", level.suffix)
		}
	}
}

// Each kernel that is declared is used by the package.
func TestEveryKernelIsUsed(t *testing.T) {
	if os.Getenv("LEVELS") != "" {
		t.Skip("the texts are not where the emulator is, and the same everywhere")
	}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var stubs [][]byte
	used := map[string]bool{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case strings.HasPrefix(name, "kernels_"):
			for _, stub := range stubIn.FindAllSubmatch(text, -1) {
				stubs = append(stubs, stub[1])
			}
		case name != "limit_amd64_test.go" && strings.HasSuffix(name, "_test.go"): // that measures memory by one
		default:
			for _, word := range wordIn.FindAll(text, -1) {
				used[string(word)] = true
			}
		}
	}
	if len(stubs) == 0 {
		t.Fatal("no kernels are declared")
	}
	for _, stub := range stubs {
		if !used[string(stub)] {
			t.Errorf("%s is no entry of any table", stub)
		}
	}
}

var (
	stubIn = regexp.MustCompile(`(?m)^func (\w+)\(`)
	wordIn = regexp.MustCompile(`\w+`)
)

var requiredIn = regexp.MustCompile(`(?m)^// func (\w+)\(.*\n// Requires: (.*)$`)
