package gate_test

import (
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
)

// Every rule says why it matters and how a policy allows it, and what it shows of a policy is
// one: of an exception, one that applies.
func TestEveryRuleExplainsWhyAndHowToAllowIt(t *testing.T) {
	const digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for _, r := range gate.Rules() {
		if r.Why == "" || r.Why == r.Title || r.Why == r.Advice {
			t.Errorf("%s: why it matters: %q", r.ID, r.Why)
		}
		text, member := r.Allow()
		if text == "" {
			t.Errorf("%s: nothing is said of how it is allowed", r.ID)
		}
		if member == "" {
			if !strings.HasSuffix(r.ID, ".internal") && r.ID != "file.missing" {
				t.Errorf("%s: no member of a policy", r.ID)
			}
			continue
		}
		if _, err := gate.ParsePolicy([]byte(`{"version": 3, ` + strings.Replace(member, "DIGEST", digest, 1) + `}`)); err != nil {
			t.Errorf("%s: %s: %v", r.ID, member, err)
		}
	}
}
