package fuzz_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/corpus"
)

// OSS-Fuzz builds the targets that take one []byte: the rows of its script are these, and
// the formats beside them exist.
func TestOSSFuzzBuildsEveryTargetOfBytes(t *testing.T) {
	script, err := os.ReadFile("ossfuzz/build.sh")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(script), "targets='\n")
	rows, _, _ := strings.Cut(rest, "'")
	var listed []string
	for line := range strings.Lines(rows) {
		words := strings.Fields(line)
		listed = append(listed, words[0])
		for _, format := range words[1:] {
			if !slices.Contains(corpus.Formats(), format) {
				t.Errorf("%s: no format is called %s", words[0], format)
			}
		}
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	target := regexp.MustCompile(`(?ms)^func (Fuzz\w+)\(f \*testing\.F\) \{.*?f\.Fuzz\(func\(t \*testing\.T, ([^)]*)\)`)
	var want []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range target.FindAllStringSubmatch(string(text), -1) {
			if strings.HasSuffix(m[2], " []byte") && !strings.Contains(m[2], ",") {
				want = append(want, m[1])
			}
		}
	}
	slices.Sort(want)
	slices.Sort(listed)
	if d := cmp.Diff(want, listed); d != "" {
		t.Errorf("targets of one []byte, and those of ossfuzz/build.sh:\n%s", d)
	}
}
