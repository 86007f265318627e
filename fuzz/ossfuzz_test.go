package fuzz_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// OSS-Fuzz builds the targets that take one []byte: the rows of its script are these.
func TestOSSFuzzBuildsEveryTargetOfBytes(t *testing.T) {
	script, err := os.ReadFile("ossfuzz/build.sh")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(script), "targets='\n")
	rows, _, _ := strings.Cut(rest, "'")
	listed := strings.Fields(rows)
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

// The script builds the targets with fuzz/libfuzzer in the place of testing.
func TestTargetsBuildWithoutTesting(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	clause := regexp.MustCompile(`(?m)^package fuzz_test$`)
	imported := regexp.MustCompile(`(?m)^(import |\t)"testing"$`)
	dir, replaced := t.TempDir(), map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !clause.Match(text) {
			continue
		}
		text = clause.ReplaceAll(text, []byte("package targets"))
		text = imported.ReplaceAll(text, []byte(`${1}testing "github.com/anamnesis-go/anamnesis/fuzz/libfuzzer"`))
		name := strings.TrimSuffix(file, "_test.go") + ".go"
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
		replaced[filepath.Join(here, "targets", name)] = filepath.Join(dir, name)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", list, "./targets").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
