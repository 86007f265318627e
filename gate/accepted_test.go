package gate_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/faulty"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

const emptyModel = "\x02\x00\x00\x00\x00\x00\x00\x00{}"

// A verdict that no judgement made is refused, whatever its fields say.
func TestTheZeroVerdictIsRefused(t *testing.T) {
	for name, v := range map[string]*gate.Verdict{
		"zero": {}, "filled in": {Name: "m", SHA256: strings.Repeat("0", 64), Verified: true, Format: "safetensors"}, "harmless": {Harmless: "text"}, "excluded": {Excluded: true}, "error": {Err: errors.New("x")},
	} {
		a, ok := v.Acceptance()
		if v.Accepted() || ok || a.OK() || v.Class() == wire.OK || v.Class().HTTPStatus() < 400 || v.Class().ExitCode() == 0 || len(v.Refusals()) == 0 {
			t.Errorf("%s: accepted %v, %v, class %v, refusals %v", name, v.Accepted(), ok, v.Class(), v.Refusals())
		}
		text, err := json.Marshal(v)
		if err != nil || !strings.Contains(string(text), `"accepted":false`) || strings.Contains(string(text), `"acceptance"`) {
			t.Errorf("%s: %v, %s", name, err, text)
		}
		v.Close()
	}
	var none *gate.Verdict
	if none.Accepted() {
		t.Error("no verdict is accepted")
	}
	var a gate.Accepted
	if a.OK() || a.Of([32]byte{}, 0) || a.Of([32]byte{}, -1) || a.SHA256() != "" || a.Size() != -1 || a.Policy() != "" || a.Rules() != "" || a.Version() != "" {
		t.Errorf("the zero acceptance says %+v", a)
	}
	if text, err := json.Marshal(a); err != nil || string(text) != "null" {
		t.Errorf("%s, %v", text, err)
	}
}

// An acceptance names the bytes, the policy and the rules. Clearing the error of a refusal does not
// make an acceptance, and setting an error on an accepted verdict ends its acceptance.
func TestAnAcceptanceNamesWhatWasJudged(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	g := gate.Gate{Digest: true, Version: "7"}
	check := func(g *gate.Gate, data string) *gate.Verdict {
		v, err := g.Check(b, strings.NewReader(data), int64(len(data)), gate.Hint{Name: "m.safetensors"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(v.Close)
		return v
	}
	v := check(&g, emptyModel)
	policy, err := g.Policy.Digest()
	if err != nil {
		t.Fatal(err)
	}
	a, ok := v.Acceptance()
	sum := sha256.Sum256([]byte(emptyModel))
	if !ok || !a.OK() || !a.Of(sum, 10) || a.Of(sum, 11) || a.Of([32]byte{}, 10) || a.Policy() != policy || a.Rules() != gate.RulesDigest("7") || a.Version() != "7" {
		t.Errorf("%v: %+v", ok, a)
	}
	if v.Err = errors.New("mine"); v.Accepted() {
		t.Error("accepted in spite of an error")
	}
	if v := check(&gate.Gate{}, emptyModel); !v.Accepted() {
		t.Error("not accepted without a digest")
	} else if _, ok := v.Acceptance(); ok {
		t.Error("an acceptance of nobody knows which bytes")
	}
	refused := check(&g, "\x02\x00")
	if refused.Err = nil; refused.Accepted() {
		t.Error("a refusal whose error is gone is accepted")
	}
	if gate.RulesDigest("7") == gate.RulesDigest("8") {
		t.Error("another version judges by the same rules")
	}
	// A policy that states its defaults is the same policy.
	text, err := g.Policy.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	stated, err := gate.ParsePolicy(text)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := stated.Digest(); err != nil || again != policy {
		t.Errorf("%s, %v, not %s", again, err, policy)
	}
}

// A judgement that ended early is a refusal: unreadable bytes, a panic, an excluded file, a
// folder's link.
func TestOnlyTheEndOfAJudgementAccepts(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	g := gate.Gate{Digest: true, Seen: func(*limits.Budget, tensor.Model) error { panic("a bug") }}
	for name, r := range map[string]faulty.Reader{"cut": {Data: []byte(emptyModel), From: 9}, "panic": {Data: []byte(emptyModel), From: 10}} {
		v, err := g.Check(b, r, 10, gate.Hint{Name: "m.safetensors"})
		if err != nil {
			t.Fatal(err)
		}
		if v.Accepted() || v.Class() != wire.Internal {
			t.Errorf("%s: %v, %v", name, v.Class(), v.Err)
		}
		v.Close()
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "m.safetensors"), []byte(emptyModel), 0o600); err != nil {
		t.Fatal(err)
	}
	g = gate.Gate{Digest: true, Exclude: func(string) bool { return true }}
	for v, err := range g.CheckPath(b, dir) {
		if _, ok := v.Acceptance(); err != nil || ok || v.Accepted() || v.Class() != wire.OK || !v.Excluded {
			t.Errorf("excluded: %v, %v, %v", err, v.Accepted(), v.Class())
		}
	}
}
