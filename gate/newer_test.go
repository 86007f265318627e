package gate_test

import (
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A policy that was stored before a rule came accepts what it accepted, says what a newer one
// would refuse, and refuses it if it names the rule.
func TestAnOlderPolicyReportsNewerRules(t *testing.T) {
	const text, report = `{"invented": "some.module"}`, "a policy of version 3"
	for policy, want := range map[string]struct {
		class wire.Class
		says  bool
	}{
		`{"version": 2, "fail_on": "warning"}`: {wire.OK, true},
		`{"version": 2, "fail_on": "note"}`:    {wire.OK, true},
		`{"version": 3, "fail_on": "warning"}`: {wire.Forbidden, false},
		`{"fail_on": "warning"}`:               {wire.Forbidden, false},
		`{"version": 2, "fail_on": "warning", "rules": [{"rule": "sidecar.unexplained", "severity": "warning"}]}`:                                {wire.Forbidden, false},
		`{"version": 2, "rules": [{"rule": "sidecar.*", "severity": "danger"}]}`:                                                                 {wire.Forbidden, false},
		`{"version": 2, "fail_on": "warning", "paths": [{"path": "*.json", "rules": [{"rule": "sidecar.unexplained", "severity": "warning"}]}]}`: {wire.Forbidden, false},
	} {
		p, err := gate.ParsePolicy([]byte(policy))
		if err != nil {
			t.Fatal(policy, err)
		}
		again, err := p.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if q, err := gate.ParsePolicy(again); err != nil || q.Version != p.Version {
			t.Errorf("%s: read again as version %d, %v", policy, q.Version, err)
		}
		b := p.Limits.Budget(t.Context())
		g := gate.Gate{Policy: p}
		v, err := g.Check(b, strings.NewReader(text), int64(len(text)), gate.Hint{Name: "notes.json", Beside: true})
		if err != nil {
			t.Fatal(err)
		}
		says := len(v.Findings) == 2 && strings.Contains(v.Findings[0].Text, report) && strings.Contains(v.Findings[1].Text, report)
		if v.Class() != want.class || says != want.says {
			t.Errorf("%s: %v by %+v, says so %v", policy, v.Class(), v.Findings, says)
		}
		v.Close()
		b.Close()
	}
}

// A baseline that was written before a rule came excuses its files for it.
func TestAnOlderBaselineKnowsNewerRules(t *testing.T) {
	files := `"files": [{"path": "a", "sha256": "` + strings.Repeat("0", 64) + `", "rules": ["pickle.global"]}]}`
	for schema, want := range map[string]bool{"amn.baseline/1": true, gate.BaselineSchema: false} {
		list, err := gate.ReadBaseline(strings.NewReader(`{"schema": "` + schema + `", ` + files))
		if err != nil {
			t.Fatal(schema, err)
		}
		found := false
		for _, e := range list {
			found = found || e.Rule == "sidecar.unexplained"
		}
		if found != want {
			t.Errorf("%s: %+v", schema, list)
		}
	}
}
