package tokenizer

import (
	"strings"
	"testing"
	"unicode"

	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// What tokenizers 0.23.3 gives, for the rules that the tables do not show: marks in the
// order of their classes, what keeps a mark from its letter, syllables of Hangul.
func TestForms(t *testing.T) {
	ledger.Charges(t)
	for _, c := range []struct{ form, text, want string }{
		{"NFC", "e\u0301", "é"},
		{"NFC", "a\u0323\u0302", "\u1ead"},
		{"NFC", "a\u0302\u0323", "\u1ead"},
		{"NFC", "a\u0301\u0301", "á\u0301"},
		{"NFC", "a\u093c\u0301", "á\u093c"},
		{"NFC", "\u0301a", "\u0301a"},
		{"NFC", "\u1100\u1161\u11a8", "각"},
		{"NFC", "가\u11a8", "각"},
		{"NFC", "가\u11a7", "가\u11a7"},
		{"NFC", "\u212b\u0958", "Å\u0915\u093c"},
		{"NFD", "각é", "\u1100\u1161\u11a8e\u0301"},
		{"NFD", "ﬁ", "ﬁ"},
		{"NFKC", "ﬁＡ㎏½\u212b", "fiAkg1⁄2Å"},
		{"NFKD", "ﷺ", "صلى الله عليه وسلم"},
	} {
		got, err := formNames[c.form].apply(account(t, limits.Policy{}), c.text)
		if err != nil || got != c.want {
			t.Errorf("%s of %+q: %+q %v, want %+q", c.form, c.text, got, err, c.want)
		}
	}
}

// A long run of marks is sorted, and pays for it.
func TestManyMarks(t *testing.T) {
	text := "a" + strings.Repeat("\u0301\u0323", 200_000)
	if _, err := formNames["NFC"].apply(account(t, limits.Policy{}), text); err != nil {
		t.Error(err)
	}
	if _, err := formNames["NFKD"].apply(account(t, limits.Policy{MaxSteps: 1 << 20}), text); wire.ClassOf(err) != wire.Limit {
		t.Errorf("marks beyond the account: %v", err)
	}
	if _, err := formNames["NFKD"].apply(account(t, limits.Policy{MaxTotalBytes: 1 << 20}), strings.Repeat("ﷺ", 50_000)); wire.ClassOf(err) != wire.Limit {
		t.Errorf("a text that grows beyond the account: %v", err)
	}
}

// The tables cover every character: letters that Go's older tables have are letters.
func TestTablesAgreeWithOlderOnes(t *testing.T) {
	upper, letter := categorySet("Lu", false), categorySet("L", false)
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if unicode.Is(unicode.Lu, r) && !upper.set.has(r) || unicode.Is(unicode.L, r) && !letter.set.has(r) {
			t.Fatalf("%U", r)
		}
	}
	if n := scriptNames[scriptsOf('世')-1]; n != "Han" {
		t.Error(n)
	}
}
