package gate_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/gate"
)

// A policy that allows what honest files need accepts these files, and no hostile one.
func TestLearnedPoliciesAdmitNoHostileFile(t *testing.T) {
	files, err := filepath.Glob("../testdata/gate/trainer/*.bin")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	var p gate.Policy
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		v, _ := check(t, gate.Gate{}, string(data), gate.Hint{Name: "training_args.bin"})
		for _, n := range v.Needs() {
			if n.Reason != "" {
				t.Errorf("%s: %s: %s", path, n.Name, n.Reason)
			}
			if !slices.Contains(p.AllowGlobals, n.Name) {
				p.AllowGlobals = append(p.AllowGlobals, n.Name)
			}
		}
	}
	if err := p.Validate(); err != nil || len(p.AllowGlobals) == 0 {
		t.Fatal(p.AllowGlobals, err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if v, _ := check(t, gate.Gate{Policy: p}, string(data), gate.Hint{Name: "training_args.bin"}); !v.Accepted() {
			t.Errorf("%s: %v", path, v.Err)
		}
	}
	tried := 0
	for _, format := range corpus.Formats() {
		for _, r := range corpus.Hostile(format) {
			if r.Depth == "whole" || r.Policy != nil {
				continue
			}
			before, _ := check(t, gate.Gate{}, string(r.Bytes()), gate.Hint{Name: r.File})
			after, _ := check(t, gate.Gate{Policy: p}, string(r.Bytes()), gate.Hint{Name: r.File})
			if after.Accepted() != before.Accepted() || after.Class() != before.Class() {
				t.Errorf("%s/%s: %v before, %v after", format, r.Name, before.Class(), after.Class())
			}
			tried++
		}
	}
	if tried < 500 {
		t.Errorf("only %d recipes", tried)
	}
}

// All names that a pickle needs are listed at once, and marked if no policy can allow them.
func TestNeedsOfAPickle(t *testing.T) {
	v, _ := check(t, gate.Gate{}, "\x80\x02cmy.module\nA\n)\x81}b0cmy.module\nB\nK\x01\x85R0cos\nsystem\n)R.", gate.Hint{Name: "m.pkl"})
	var got []string
	for _, n := range v.Needs() {
		got = append(got, n.Name+" "+n.Reason)
	}
	if want := []string{"my.module.A ", "my.module.B ", "os.system starts programs"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	p := policy(t, `{"allow_globals": ["my.module.A"]}`)
	v, _ = check(t, gate.Gate{Policy: p}, "\x80\x02cmy.module\nA\n)\x81}b0cmy.module\nB\nK\x01\x85R0cmy.module\nC\n)R.", gate.Hint{Name: "m.pkl"})
	const want = `pickle: GLOBAL at 0x14: forbidden: "my.module.B": not on the allowlist; in all it asks for "my.module.B", "my.module.B" (call), "my.module.C", "my.module.C" (call)`
	if v.Err == nil || v.Err.Error() != want {
		t.Errorf("%v", v.Err)
	}
}
