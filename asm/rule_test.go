package asm

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A kernel of blocks or of runs stays where it is at least 1.2 times as fast as the level below on one of
// the processors that were measured: by the tables of benchmarks in PERFORMANCE.md, each type that has
// a kernel has a row, and what is measured with it keeps the rule.
func TestKernelsKeepTheRule(t *testing.T) {
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
	checked := map[string]int{}
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
		for _, entry := range entriesIn.FindAllStringSubmatch(rows, -1) {
			to := typeNamed[entry[2]]
			for _, m := range measured(entry[1], entry[3]) {
				row, other, lower, otherLower := intel[m.above], zen4[m.above], intel[m.below], zen4[m.below]
				if row == nil || other == nil || lower == nil || otherLower == nil {
					t.Errorf("%s has a kernel to %s and no row of the tables", m.above, entry[2])
					continue
				}
				above, below := level.above[to], level.below[to]
				if below == 0 {
					lower = row
				}
				if figure(t, row[above]) < 1.2*figure(t, lower[below]) && (below == 0 || figure(t, other[above]) < 1.2*figure(t, otherLower[below])) {
					t.Errorf("%s: %s to %s makes %s, the level below %s", level.name, m.above, entry[2], row[above], lower[below])
				}
				checked[level.name]++
			}
		}
	}
	if checked["avx2Kernels"] < 120 || checked["avx512Kernels"] < 60 {
		t.Errorf("%v kernels found", checked)
	}
}

// A measurement is the row for a kernel, and the row for the level below.
type measurement struct{ above, below string }

// measured returns the rows of an entry. Joins without a row are represented by one whose
// loop takes as long.
func measured(entry, which string) (m []measurement) {
	same := func(names ...string) {
		for _, n := range names {
			m = append(m, measurement{n, n})
		}
	}
	switch entry {
	case "blocks":
		same(which)
	case "float8":
		same(which + ", blocks")
	case "bytes":
		if which == "Scale" || which == "bytesTwice" {
			return []measurement{{"bytes, affine", "INT8 rows"}}
		}
		same("bytes, affine")
	case "nibbles":
		if which == "Scale" {
			same("codebook/32", "codebook/64", "codebook/128")
		} else {
			same("affine/64")
		}
	}
	return m
}

var typeNamed = map[string]Type{"F32": F32, "BF16": BF16, "F16": F16}

// entriesIn finds the entries of types of blocks, and of runs but those that have neither a row nor a kernel above AVX2.
var entriesIn = regexp.MustCompile(`o\.(blocks|float8|bytes|nibbles)\[(\w+)\](?:\[\d\])?\[(\w+)\] = `)

// figure returns the number in a cell.
func figure(t *testing.T, cell string) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(strings.TrimSpace(cell), 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
