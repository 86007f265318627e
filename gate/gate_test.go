package gate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// check judges bytes, and fails if the account is not empty afterwards.
func check(t *testing.T, g gate.Gate, data string, h gate.Hint) (*gate.Verdict, string) {
	t.Helper()
	b := g.Policy.Limits.Budget(t.Context())
	defer b.Close()
	v, err := g.Check(b, strings.NewReader(data), int64(len(data)), h)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	v.Close()
	limitstest.NoLeak(t, b)
	return v, string(text)
}

const (
	packed = "\x04\"M\x18d@\xa7\x00"
	evil   = "cos\nsystem\n(S'id'\ntR."
	empty  = "\x02\x00\x00\x00\x00\x00\x00\x00{}"
)

func TestVerdicts(t *testing.T) {
	valid := func(format string) string {
		for _, s := range corpus.Valid(format) {
			if s.Recipe == nil || s.Recipe.Policy == nil {
				return string(s.Data)
			}
		}
		t.Fatal(format)
		return ""
	}
	for _, tc := range []struct {
		what, data string
		hint       gate.Hint
		class      string
		rule       string
	}{
		{"a model", empty, gate.Hint{Name: "m.safetensors"}, "ok", ""},
		{"a model without a name", empty, gate.Hint{}, "ok", ""},
		{"as promised", empty, gate.Hint{Promised: "safetensors"}, "ok", ""},
		{"another one was promised", empty, gate.Hint{Promised: "gguf"}, "forbidden", "gate.promise"},
		{"an array", valid("npy"), gate.Hint{Name: "a.npy"}, "ok", ""},
		{"code in a pickle", evil, gate.Hint{Name: "m.pkl"}, "forbidden", "pickle.global"},
		{"code in a file of a folder", evil, gate.Hint{Name: "notes", Beside: true}, "forbidden", "pickle.global"},
		{"half a header", empty[:9], gate.Hint{Name: "m.safetensors"}, "truncated", "safetensors.truncated"},
		{"a text beside", "a note\n", gate.Hint{Name: "README", Beside: true}, "ok", ""},
		{"a text alone", "a note\n", gate.Hint{Name: "README"}, "unsupported", "detect.foreign"},
		{"packed", packed, gate.Hint{Name: "x.pkl.lz4", Beside: true}, "unsupported", "gate.unlooked"},
		{"a limit", empty, gate.Hint{Name: "m.safetensors"}, "limit", "limit.steps"},
	} {
		t.Run(tc.what, func(t *testing.T) {
			g := gate.Gate{}
			if tc.rule == "limit.steps" {
				g.Policy.Limits.MaxItems, g.Policy.Limits.MaxSteps = 1, 1
				tc.data = valid("gguf")
			}
			v, _ := check(t, g, tc.data, tc.hint)
			rule := ""
			if list := v.Refusals(); len(list) > 0 {
				rule = list[0].Rule
			}
			if v.Class().String() != tc.class || !strings.HasPrefix(rule, strings.TrimSuffix(tc.rule, "steps")) || (rule == "") != (tc.rule == "") {
				t.Errorf("%v by rule %q (%v)", v.Class(), rule, v.Err)
			}
			if v.Accepted() != (tc.class == "ok") {
				t.Error("accepted and class disagree")
			}
		})
	}
}

// Every hostile file of the corpus is refused by a rule that is listed, the JSON is
// the same again and through any reader, and every finding is a rule.
func TestTheCorpusIsRefusedByRulesThatAreListed(t *testing.T) {
	for _, format := range []string{"pth", "pickle", "npy", "npz", "safetensors", "gguf", "zip", "wrap", "onnx"} {
		for _, r := range corpus.Hostile(format) {
			if r.Policy != nil || len(r.Bytes()) == 0 || len(r.Bytes()) > 1<<20 {
				continue
			}
			h := gate.Hint{Name: "file." + format}
			if format == "pickle" {
				h.Name = "file.pkl"
			}
			v, first := check(t, gate.Gate{}, string(r.Bytes()), h)
			if packs := format == "zip" || format == "wrap" || format == "onnx"; packs && v.Accepted() {
				t.Errorf("%s: accepted: %s", r.Path(), first)
			}
			for _, why := range v.Refusals() {
				if !gate.IsRule(why.Rule) {
					t.Errorf("%s: no rule %s is listed", r.Name, why.Rule)
				}
			}
			for _, f := range v.Findings {
				if !gate.IsRule(f.Code) {
					t.Errorf("%s: no rule %s is listed", r.Name, f.Code)
				}
			}
			if _, again := check(t, gate.Gate{}, string(r.Bytes()), h); again != first {
				t.Errorf("%s: two verdicts", r.Name)
			}
		}
	}
}

func TestSeverityRefuses(t *testing.T) {
	var data string
	for _, s := range corpus.Valid("gguf") {
		if strings.HasPrefix(s.Name, "template") {
			data = string(s.Data)
		}
	}
	for name, want := range map[string]string{"danger": "forbidden", "never": "ok", "note": "forbidden"} {
		on, ok := gate.ParseFailOn(name)
		if !ok {
			t.Fatal(name)
		}
		v, _ := check(t, gate.Gate{Policy: gate.Policy{FailOn: on}}, data, gate.Hint{Name: "a.gguf"})
		if v.Class().String() != want {
			t.Errorf("%s: %v", name, v.Err)
		}
		if want != "ok" && !strings.HasPrefix(v.Refusals()[0].Rule, "gguf.") {
			t.Errorf("%s: rule %s", name, v.Refusals()[0].Rule)
		}
	}
}

func TestExceptions(t *testing.T) {
	const digest = "a3b6cf3acfe8a07a3c5e0d9c0d3fbb6a5f6d0bbcfd2ed0d5f5a3b3c9c0d3fbb6"
	except := gate.Exception{Rule: "gate.unlooked", Path: "x.pkl.lz4", Reason: "judged by another tool", Expires: "2026-12-31"}
	for _, tc := range []struct {
		what  string
		e     gate.Exception
		name  string
		today string
		ok    bool
	}{
		{"it holds", except, "x.pkl.lz4", "2026-12-31", true},
		{"it has run out", except, "x.pkl.lz4", "2027-01-01", false},
		{"no day is known", except, "x.pkl.lz4", "", false},
		{"another file", except, "other.gz", "2026-12-01", false},
		{"another rule", gate.Exception{Rule: "zip.*", Path: "x.pkl.lz4", Reason: "r"}, "x.pkl.lz4", "", false},
		{"another digest", gate.Exception{Rule: "gate.*", SHA256: digest, Reason: "r"}, "x.pkl.lz4", "", false},
		{"neither path nor digest", gate.Exception{Rule: "gate.*", Reason: "r"}, "x.pkl.lz4", "", false},
	} {
		g := gate.Gate{Today: tc.today, Digest: true, Policy: gate.Policy{Ignore: []gate.Exception{tc.e}}}
		v, text := check(t, g, packed, gate.Hint{Name: tc.name, Beside: true})
		if v.Accepted() != tc.ok || tc.ok != (len(v.Ignored) > 0) || tc.ok != strings.Contains(text, `"ignored"`) {
			t.Errorf("%s: %s", tc.what, text)
		}
	}
	byName := gate.Gate{Digest: true, Policy: gate.Policy{Ignore: []gate.Exception{{Rule: "pickle.*", Path: "args.bin", Reason: "r"}}}}
	if v, _ := check(t, byName, evil, gate.Hint{Name: "args.bin"}); v.Accepted() {
		t.Error("what runs code is accepted by a name")
	}
	v, _ := check(t, gate.Gate{Digest: true}, evil, gate.Hint{Name: "args.bin"})
	g := gate.Gate{Digest: true, Policy: gate.Policy{Ignore: []gate.Exception{{Rule: "pickle.*", SHA256: v.SHA256, Reason: "r"}}}}
	if v, _ := check(t, g, evil, gate.Hint{Name: "args.bin"}); !v.Accepted() {
		t.Errorf("by its digest: %v", v.Err)
	}
}

// An exception for one finding does not hide another that is as severe.
func TestAnExceptionHidesOneFinding(t *testing.T) {
	var data string
	for _, s := range corpus.Valid("gguf") {
		if strings.HasPrefix(s.Name, "template") {
			data = string(s.Data)
		}
	}
	v, _ := check(t, gate.Gate{}, data, gate.Hint{Name: "a.gguf"})
	codes := map[string]bool{}
	for _, r := range v.Refusals() {
		codes[r.Rule] = true
	}
	if len(codes) < 2 {
		t.Fatalf("%v", codes)
	}
	var p gate.Policy
	for code := range codes {
		if v, _ := check(t, gate.Gate{Policy: p}, data, gate.Hint{Name: "a.gguf"}); v.Accepted() {
			t.Errorf("accepted by %d exceptions, and there are %d findings", len(p.Ignore), len(codes))
		}
		p.Ignore = append(p.Ignore, gate.Exception{Rule: code, Path: "a.gguf", Reason: "r"})
	}
	if v, _ := check(t, gate.Gate{Policy: p}, data, gate.Hint{Name: "a.gguf"}); !v.Accepted() {
		t.Error(v.Err)
	}
}

// A reader that fails, and a context that ends, accept nothing.
func TestWhatCannotBeReadIsNotAccepted(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	v, err := gate.Check(b, failing{}, 100, gate.Hint{Name: "a.safetensors"})
	if err != nil || v.Class() != wire.Internal || v.Accepted() {
		t.Errorf("%+v, %v", v, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ended := limits.Policy{}.Budget(ctx)
	defer ended.Close()
	if v, err := gate.Check(ended, strings.NewReader(empty), int64(len(empty)), gate.Hint{}); !errors.Is(err, context.Canceled) || v != nil {
		t.Errorf("%+v, %v", v, err)
	}
}

type failing struct{}

func (failing) ReadAt([]byte, int64) (int, error) { return 0, iotest.ErrTimeout }

func TestPoliciesAreReadAsTheyAreWritten(t *testing.T) {
	p := gate.Policy{FailOn: gate.FailOnWarning, ReportUnlooked: true, Ignore: []gate.Exception{{Rule: "gguf.split", Path: "*.gguf", Reason: "shards", Expires: "2027-01-01"}}}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	again, err := gate.ReadPolicy(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	second, _ := json.Marshal(again)
	if !bytes.Equal(text, second) {
		t.Errorf("%s\n%s", text, second)
	}
	old, _ := json.Marshal(limits.Policy{})
	if _, err := gate.ParsePolicy(old); err != nil {
		t.Errorf("a policy of limits alone: %v", err)
	}
	for _, bad := range []string{
		`[]`, `{`, `{} {}`, `{"version": 4}`, `{"fail_on": "always"}`, `{"unlooked": true}`, `{"fail_on": "note", "fail_on": "danger"}`,
		`{"nothing": 1}`, `{"ignore": [{"rule": "gguf.nothing", "path": "*", "reason": "r"}]}`, `{"ignore": [{"rule": "gguf.split", "path": "*"}]}`,
		`{"ignore": [{"rule": "gguf.split", "reason": "r"}]}`, `{"ignore": [{"rule": "pickle.*", "path": "a.bin", "reason": "r"}]}`,
		`{"ignore": [{"rule": "*", "path": "a.bin", "reason": "r"}]}`, `{"ignore": [{"rule": "gguf.split", "path": "[", "reason": "r"}]}`,
		`{"ignore": [{"rule": "gguf.split", "path": "*", "reason": "r", "expires": "soon"}]}`, `{"ignore": [{"rule": "gguf.split", "sha256": "12", "reason": "r"}]}`,
		`{"ignore": [{"rule": "gguf.split", "path": "*", "reason": "r", "until": "2027-01-01"}]}`,
	} {
		if _, err := gate.ParsePolicy([]byte(bad)); !errors.Is(err, limits.ErrPolicy) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestRulesAreSortedAndSingle(t *testing.T) {
	list := gate.Rules()
	if !slices.IsSortedFunc(list, func(a, b gate.Rule) int { return strings.Compare(a.ID, b.ID) }) {
		t.Error("not sorted")
	}
	for i := 1; i < len(list); i++ {
		if list[i].ID == list[i-1].ID {
			t.Errorf("%s appears twice", list[i].ID)
		}
	}
	for _, code := range limits.Findings() {
		if !gate.IsRule(code) {
			t.Errorf("the finding %s is not a rule", code)
		}
	}
}

// A model that is found by its name is judged in the same way.
func TestModelsByName(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	g := gate.Gate{}
	v, err := g.CheckModel(b, "ollama:gone", true, func() (tensor.Model, error) {
		return nil, wire.At("ollama", "", wire.NoOffset, wire.ErrMissing.Errorf("no such name"))
	})
	if err != nil || v.Accepted() || v.Refusals()[0].Rule != "ollama.missing" {
		t.Errorf("%+v, %v", v, err)
	}
}
