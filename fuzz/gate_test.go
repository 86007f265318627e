package fuzz_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

// FuzzGate tests that a verdict is the same twice, its rules are listed, a refusal names
// its rule, nothing stays charged, and a policy that refuses every finding accepts nothing
// that the default policy refuses.
func FuzzGate(f *testing.F) {
	for _, format := range []string{"pth", "pickle", "npy", "npz", "safetensors", "gguf", "wrap", "onnx"} {
		for i, r := range corpus.Hostile(format) {
			if p := r.Bytes(); i%8 == 0 && len(p) < 4096 {
				f.Add(p, "file."+format)
			}
		}
	}
	f.Add([]byte("a note\n"), "README")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		judge := func(g gate.Gate) (*gate.Verdict, []byte) {
			b := g.Policy.Limits.Budget(t.Context())
			defer b.Close()
			v, err := g.Check(b, bytes.NewReader(data), int64(len(data)), gate.Hint{Name: name, Beside: true})
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			v.Close()
			limitstest.NoLeak(t, b)
			return v, text
		}
		small := gate.Gate{Policy: gate.Policy{Limits: limits.Policy{MaxTotalBytes: 16 << 20, MaxSteps: 1 << 20}}}
		v, first := judge(small)
		if _, again := judge(small); !bytes.Equal(first, again) {
			t.Errorf("two verdicts:\n%s\n%s", first, again)
		}
		list := v.Refusals()
		if v.Accepted() == (len(list) > 0) {
			t.Errorf("accepted %v, with %d refusals", v.Accepted(), len(list))
		}
		for _, r := range list {
			if !gate.IsRule(r.Rule) {
				t.Errorf("no rule %s is listed", r.Rule)
			}
		}
		strict := small
		strict.Policy.FailOn = gate.FailOnNote
		if w, _ := judge(strict); w.Accepted() && !v.Accepted() {
			t.Error("a stricter gate accepts it")
		}
	})
}
