package gate_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/gate"
)

// A recipe's file that is refused while it arrives is refused by a rule that also refuses the whole
// file, with the same message.
func TestRecipesThatArriveAreRefusedByTheSameRule(t *testing.T) {
	refused := 0
	for _, r := range corpus.Gate() {
		if r.Folder {
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			g := gate.Gate{}
			if r.Policy != nil {
				var err error
				if g.Policy, err = gate.ParsePolicy(r.Policy); err != nil {
					t.Fatal(err)
				}
			}
			b := g.Policy.Limits.Budget(t.Context())
			defer b.Close()
			data := r.Bytes()
			s := g.Stream(b, int64(len(data)), gate.Hint{Name: r.File, Promised: r.Sent})
			defer s.Close()
			_, err := s.Write(data)
			if !errors.Is(err, gate.ErrRefused) {
				return // its beginning does not tell
			}
			refused++
			var rules []string
			for _, why := range s.Verdict().Refusals() {
				rules = append(rules, why.Rule)
			}
			if !slices.Contains(rules, r.Rule) {
				t.Errorf("by %q, and as a whole by %s", rules, r.Rule)
			}
		})
	}
	if refused < 5 {
		t.Errorf("%d files were refused by their beginning", refused)
	}
}
