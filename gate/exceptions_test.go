package gate

import (
	"fmt"
	"slices"
	"testing"
)

// manyExceptions are n exceptions of each kind that an index knows, for files 0 to n-1.
func manyExceptions(n int) (list []Exception) {
	for i := range n {
		list = append(list,
			Exception{Rule: "pickle.global", SHA256: fmt.Sprintf("%064x", i), Reason: "baseline"},
			Exception{Rule: "sidecar.auto-map", Path: fmt.Sprintf("models/%d.json", i), Reason: "known"},
			Exception{Rule: "sidecar.auto-map", Path: fmt.Sprintf("%d.json", i), Reason: "known"})
	}
	return list
}

// Counted, not timed: with a comparison per entry a baseline of a folder costs the square
// of its files.
func TestAFileIsComparedOnlyWithItsOwnExceptions(t *testing.T) {
	for _, n := range []int{10, 10_000} {
		g := (&Gate{Policy: Policy{Ignore: append(manyExceptions(n), Exception{Rule: "*", Path: "*.json", Reason: "a pattern"})}}).indexed()
		v := g.draft("models/7.json")
		v.SHA256 = fmt.Sprintf("%064x", 5)
		var seen []string
		for e := range v.gate.excused.about(v) {
			seen = append(seen, e.Path+e.SHA256)
		}
		want := []string{fmt.Sprintf("%064x", 5), "models/7.json", "7.json", "*.json"}
		if !slices.Equal(seen, want) {
			t.Errorf("of %d exceptions it was compared with %q, not %q", len(g.Policy.Ignore), seen, want)
		}
		if v.gate != g || g.indexed() != g {
			t.Error("a gate that has its index makes another one")
		}
	}
}

func TestRulesAreLookedUpByTheirPrefix(t *testing.T) {
	if n := len(rulesLike("pickle.global")); n != 1 {
		t.Errorf("an identifier is compared with %d rules", n)
	}
	if n := len(rulesLike("gguf.template-*")); n == 0 || n > 20 {
		t.Errorf("gguf.template-* is compared with %d rules", n)
	}
	if n := len(rulesLike("*")); n != len(sortedRules()) {
		t.Errorf("* is compared with %d rules of %d", n, len(sortedRules()))
	}
	if n := testing.AllocsPerRun(10, func() { _ = Exception{Rule: "pickle.global", SHA256: fmt.Sprintf("%064x", 1), Reason: "r"}.check() }); n > 10 {
		t.Errorf("the check of an exception allocates %v times: it makes a list of rules", n)
	}
}
