package tokenizer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

func account(t testing.TB, p limits.Policy) *limits.Budget {
	b := p.Budget(t.Context())
	t.Cleanup(b.Close)
	return b
}

// What tokenizers 0.23.3 cuts with Split(Regex(...), "isolated").
func TestPatternsCutAsOnigurumaDoes(t *testing.T) {
	for _, c := range []struct {
		name, expr, text string
		want             []string
	}{
		{"the first alternative wins, not the longest", `a|ab`, "abab", []string{"a", "b", "a", "b"}},
		{"the last space of several belongs to the word", ` ?\p{L}+|\s+(?!\S)|\s+`, "a   b  ", []string{"a", "  ", " b", "  "}},
		{"digits in threes from the front", `\p{N}{1,3}`, "1234567", []string{"123", "456", "7"}},
		{"the case of letters within a group alone", `(?i:'s|'ll)|'M`, "'S'LL'm'M", []string{"'S", "'LL", "'m", "'M"}},
		{"possessive repeats give nothing back", `a?+a|b++b|c`, "aabbc", []string{"aa", "bb", "c"}},
		{"a class within another", `[\p{L}&&[^\p{Han}]]+`, "ab中c", []string{"ab", "中", "c"}},
		{"a line begins and ends, and not the text alone", `^a|b$|\Aab|c\z`, "ab\nab\nac", []string{"a", "b", "\n", "a", "b", "\n", "a", "c"}},
		{"letters that are equal without case, in a class that is turned", `(?i:[^k]|ſ)`, "Kks", []string{"Kk", "s"}},
		{"a property has no case", `(?i:\p{Lu}+|x)`, "aBcX", []string{"a", "B", "c", "X"}},
		{"the end", `\s+$|\s`, " a  ", []string{" ", "a", "  "}},
		{"lazy repeats", `a+?`, "aa", []string{"a", "a"}},
	} {
		b := account(t, limits.Policy{})
		cut, err := split(b, c.expr, "Isolated", false)
		if err != nil {
			t.Fatal(c.name, err)
		}
		got, err := cut(b, c.text, true)
		if err != nil {
			t.Fatal(c.name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestPatternsThatAreNotRegularAreRefused(t *testing.T) {
	ledger.Charges(t)
	for _, expr := range []string{`(a)\1`, `(a*)*b`, `(a?|b)+`, `(?:a*|b)*`, `(?i:ss)`, `(?i:aß)`, `(?i:ß*+)$`, `(?i:aß?+)`, `(?i:[ß]++)`, `(?i:[À-ÿ])`, `((a?){30}){30}b`, `(?<=a)b`, `(?!ab)c`, `(?>a)`, `a{2,1}`, `a{100}`, `a**`, `[[:alpha:]]`, `\p{Nothing}`, `(a`, `a)`, `[a`, `*`, `\k<a>`, strings.Repeat("(", 100), strings.Repeat("a", 5000)} {
		if _, err := compile(account(t, limits.Policy{}), expr); wire.ClassOf(err) != wire.Unsupported {
			t.Errorf("%.20q: %v", expr, err)
		}
	}
}

// Expressions that take exponential time with backtracking.
func TestHostilePatternsEndSoon(t *testing.T) {
	text := strings.Repeat("a", 300)
	for _, expr := range []string{`(a*b?a)*c`, `(a+a+)+b`, `(a|a)*b`, `(a|aa)+b`, `((a{1,2}){30}){30}b`} {
		b := account(t, limits.Policy{})
		cut, err := split(b, expr, "Isolated", false)
		if err != nil {
			t.Fatal(expr, err)
		}
		if _, err := cut(b, text, true); err != nil && wire.ClassOf(err) != wire.Limit {
			t.Error(expr, err)
		}
	}
}
