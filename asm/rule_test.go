package asm

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A kernel to BF16 stays where it is at least 1.2 times as fast as the level below: by the
// table of benchmarks in PERFORMANCE.md, each type of blocks that has a kernel has a
// row, and what is measured with it keeps the rule.
func TestKernelsOfBlocksKeepTheRule(t *testing.T) {
	if os.Getenv("LEVELS") != "" {
		t.Skip("the texts are not where the emulator is, and the same everywhere")
	}
	text, err := os.ReadFile("PERFORMANCE.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) == 17 {
			if name := strings.TrimSpace(cells[2]); rows[name] == nil {
				rows[name] = cells[3:]
			}
		}
	}
	checked := 0
	for _, level := range []struct {
		stubs, suffix string
		above, below  int // columns, from the scalar one on
	}{
		{"kernels_amd64.go", "BF16AVX2", 1, 0},
		{"kernels_avx512_amd64.go", "BF16AVX512", 5, 1},
		{"kernels_bf16_amd64.go", "BF16AVX512BF16", 4, 5},
	} {
		stubs, err := os.ReadFile(level.stubs)
		if err != nil {
			t.Fatal(err)
		}
		for k := range Kinds {
			name := k.String()
			at := strings.IndexAny(name, "0123456789_")
			stem := strings.ToLower(name[:at+1]) + name[at+1:]
			if !regexp.MustCompile("(?m)^func " + stem + level.suffix + "\\(").Match(stubs) {
				continue
			}
			row := rows[name]
			if row == nil {
				t.Errorf("%v has a kernel %s%s and no row of the table", k, stem, level.suffix)
				continue
			}
			above, below := figure(t, row[level.above]), figure(t, row[level.below])
			if above < 1.2*below {
				t.Errorf("%s%s makes %.1f, the level below %.1f", stem, level.suffix, above, below)
			}
			checked++
		}
	}
	if checked < 20 {
		t.Errorf("%d kernels found", checked)
	}
}

// figure is the figure of a cell.
func figure(t *testing.T, cell string) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(strings.TrimSpace(cell), 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
