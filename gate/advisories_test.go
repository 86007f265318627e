package gate_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// advisedLibraries are those whose advisories the table is about, and two more that files of models reach.
var advisedLibraries = strings.Fields("transformers vLLM diffusers Keras torch ONNX llama.cpp ollama MLflow BentoML NeMo skops joblib SGLang LMDeploy picklescan fickling modelscan Lightning LangChain")

// The file of each advisory is refused by the default policy. crosscheck/advisories/advisories.txt lists
// them.
func TestFilesOfAdvisoriesAreRefused(t *testing.T) {
	text, err := os.ReadFile("../crosscheck/advisories/advisories.txt")
	if err != nil {
		t.Fatal(err)
	}
	recipes := map[string]corpus.Recipe{}
	for _, r := range corpus.Gate() {
		recipes["gate/"+r.Name] = r
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if line[0] == '#' {
			continue
		}
		part := strings.Split(strings.TrimSpace(line), "\t")
		if len(part) != 4 || !strings.HasPrefix(part[0], "CVE-202") && !strings.HasPrefix(part[0], "GHSA-") || seen[part[0]] || !slices.Contains(advisedLibraries, part[1]) {
			t.Errorf("%q", line)
			continue
		}
		seen[part[0]] = true
		refused, ok := refusedByDefault(t, recipes, part[3])
		if !ok {
			t.Errorf("%s: no recipe %s", part[0], part[3])
		} else if !refused {
			t.Errorf("%s: %s is accepted", part[0], part[3])
		}
	}
	if len(seen) < 90 {
		t.Errorf("%d advisories", len(seen))
	}
}

// refusedByDefault reports whether the default policy refuses what a recipe makes; ok is false if there
// is none of the name.
func refusedByDefault(t *testing.T, recipes map[string]corpus.Recipe, name string) (refused, ok bool) {
	t.Helper()
	if r, ok := recipes[name]; ok {
		r.Policy = nil
		return slices.ContainsFunc(verdictsOf(t, r), func(v *gate.Verdict) bool { return v.Class() != wire.OK }), true
	}
	rest, _ := strings.CutPrefix(name, "hostile/")
	format, name, _ := strings.Cut(rest, "/")
	for _, r := range corpus.Hostile(format) {
		if r.Name != name {
			continue
		}
		v, _ := check(t, gate.Gate{}, string(r.Bytes()), gate.Hint{Name: "model." + map[string]string{"pickle": "pkl", "zip": "pt", "pth": "pt", "gguf": "gguf", "hdf5": "h5"}[format]})
		defer v.Close()
		return v.Class() != wire.OK, true
	}
	return false, false
}
