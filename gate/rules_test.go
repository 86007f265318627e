package gate_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A policy may name a refusal by its rule, by its group, or by a pattern of either.
func TestExceptionsNameRulesAndGroups(t *testing.T) {
	hole := tarred(t, member{"README", "a note\n"}) + "\x01"
	digest := sha256.Sum256([]byte(hole))
	for rule, want := range map[string]bool{"tar.hole": true, "tar.gap": true, "tar.*": true, "*.gap": true, "tar.trailing": false, "zip.gap": false} {
		g := gate.Gate{Digest: true, Policy: gate.Policy{Ignore: []gate.Exception{{Rule: rule, SHA256: hex.EncodeToString(digest[:]), Reason: "r"}}}}
		if err := g.Policy.Validate(); err != nil {
			t.Error(err)
		}
		v, text := check(t, g, hole, gate.Hint{Name: "a.tar"})
		if v.Accepted() != want {
			t.Errorf("%s: accepted %v", rule, v.Accepted())
		}
		if !want && !strings.Contains(text, `"rule":"tar.hole","group":"tar.gap","severity":"warning","advice":"`) {
			t.Error(text)
		}
	}
}

// A finding that the limits refuse ends the judgement: an exception by the name of the finding does
// not apply.
func TestFindingsRefusedByTheLimitsCannotBeIgnoredByName(t *testing.T) {
	p := gate.Policy{Limits: limits.Policy{RefuseFindings: []string{"detect.name"}}, Ignore: []gate.Exception{{Rule: "detect.name", Path: "*", Reason: "r"}}}
	v, _ := check(t, gate.Gate{Policy: p}, empty, gate.Hint{Name: "file.gguf"})
	if list := v.Refusals(); v.Accepted() || len(list) != 1 || list[0].Rule != "detect.name" || list[0].Group == "" {
		t.Errorf("%+v", list)
	}
}
