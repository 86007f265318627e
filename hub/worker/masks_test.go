package worker_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/hub/rules"
	"github.com/anamnesis-go/anamnesis/hub/store"
)

const module = "github.com/anamnesis-go/anamnesis/"

// The packages of a row of the table of rules run for no file that has no fact of its mask: every
// recipe of the corpus and every honest file is judged, those with the same facts together, and
// what ran for them is counted.
func TestMasksHold(t *testing.T) {
	dir := t.TempDir()
	var of []string
	for _, p := range rules.Packages() {
		of = append(of, module+p)
	}
	program := filepath.Join(dir, "masks.exe")
	if out, err := exec.Command("go", "build", "-cover", "-covermode=atomic", "-coverpkg="+strings.Join(append(of, module+"hub/internal/masks"), ","), "-o", program, "../internal/masks").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	honest, err := filepath.Glob(filepath.Join("..", "..", "testdata", "*"))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, append([]string{dir}, append(every(t), honest...)...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	groups, err := filepath.Glob(filepath.Join(dir, "*", "facts.json"))
	if err != nil || len(groups) < 20 {
		t.Fatalf("%d groups of files, %v", len(groups), err)
	}
	ran := map[string]int{}
	for _, g := range groups {
		text, err := os.ReadFile(g)
		if err != nil {
			t.Fatal(err)
		}
		var facts []string
		if err := json.Unmarshal(text, &facts); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("go", "tool", "covdata", "percent", "-i", filepath.Dir(g)).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, m := range regexp.MustCompile(`(\S+)\s+coverage: ([0-9.]+)% of statements`).FindAllStringSubmatch(string(out), -1) {
			name := strings.TrimPrefix(m[1], module)
			if name == "hub/internal/masks" { // the mode of counting is set by the main package
				continue
			}
			if percent, err := strconv.ParseFloat(m[2], 64); err != nil || percent == 0 {
				continue
			}
			ran[name]++
			mask := rules.MaskOf(name)
			if mask == nil || slices.Contains(mask, store.Everything) {
				t.Errorf("%s has no row", name)
			} else if !slices.ContainsFunc(facts, func(f string) bool { return slices.Contains(mask, f) }) {
				t.Errorf("%s runs for files with the facts %v, and its mask is %v (%s%%)", name, facts, mask, m[2])
			}
		}
	}
	for _, p := range rules.Packages() {
		if ran[p] == 0 {
			t.Errorf("%s ran for no file: that proves nothing", p)
		}
	}
	t.Logf("%d groups of files; packages ran for so many of them: %v", len(groups), ran)
}
