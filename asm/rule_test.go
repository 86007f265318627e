package asm

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A kernel of blocks stays where it is at least 1.2 times as fast as the level below on one of
// the processors that were measured: by the tables of benchmarks in PERFORMANCE.md, each type
// of blocks that has a kernel has a row, and what is measured with it keeps the rule.
func TestKernelsOfBlocksKeepTheRule(t *testing.T) {
	if os.Getenv("LEVELS") != "" {
		t.Skip("the texts are not where the emulator is, and the same everywhere")
	}
	text, err := os.ReadFile("PERFORMANCE.md")
	if err != nil {
		t.Fatal(err)
	}
	intel, zen4 := map[string][]string{}, map[string][]string{}
	for line := range strings.Lines(string(text)) {
		switch cells := strings.Split(line, "|"); len(cells) {
		case 17:
			if name := strings.TrimSpace(cells[2]); intel[name] == nil {
				intel[name] = cells[3:]
			}
		case 10:
			zen4[strings.TrimSpace(cells[1])] = cells[1:] // no column of scalar ones
		}
	}
	checked := 0
	for _, level := range []struct {
		rows, name   string
		above, below [3]int // columns by target, from the scalar one on
	}{
		{"rows_amd64.go", "avx2Kernels", [3]int{F32: 2, BF16: 1, F16: 3}, [3]int{}},
		{"rows_avx512_amd64.go", "avx512Kernels", [3]int{F32: 6, BF16: 5, F16: 7}, [3]int{F32: 2, BF16: 1, F16: 3}},
	} {
		text, err := os.ReadFile(level.rows)
		if err != nil {
			t.Fatal(err)
		}
		_, rows, _ := strings.Cut(string(text), ") "+level.name+"() {")
		rows, _, _ = strings.Cut(rows, "\n}")
		for _, entry := range blocksIn.FindAllStringSubmatch(rows, -1) {
			to, name := typeNamed[entry[1]], entry[2]
			row, other := intel[name], zen4[name]
			if row == nil || other == nil {
				t.Errorf("%s has a kernel to %s and no row of the tables", name, entry[1])
				continue
			}
			above, below := level.above[to], level.below[to]
			if figure(t, row[above]) < 1.2*figure(t, row[below]) && (below == 0 || figure(t, other[above]) < 1.2*figure(t, other[below])) {
				t.Errorf("%s: %s to %s makes %s, the level below %s", level.name, name, entry[1], row[above], row[below])
			}
			checked++
		}
	}
	if checked < 90 {
		t.Errorf("%d kernels found", checked)
	}
}

var typeNamed = map[string]Type{"F32": F32, "BF16": BF16, "F16": F16}

// blocksIn finds the entries of types of blocks.
var blocksIn = regexp.MustCompile(`o\.blocks\[(\w+)\]\[(\w+)\] = `)

// figure is the figure of a cell.
func figure(t *testing.T, cell string) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(strings.TrimSpace(cell), 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
