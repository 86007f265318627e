package wire_test

import (
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/google/go-cmp/cmp"
)

func TestQuote(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"a plain name", "blk.0.attn_q.weight", `"blk.0.attn_q.weight"`},
		{"nothing", "", `""`},
		{"spaces", " a b ", `" a b "`},
		{"quote and backslash", `a"b\c`, `"a\"b\\c"`},
		{"text that looks like an escape", `\u{202e}`, `"\\u{202e}"`},
		{"control characters", "\x00\a\b\t\n\v\f\r\x1b[2J\x7f", `"\u{0}\u{7}\u{8}\u{9}\u{a}\u{b}\u{c}\u{d}\u{1b}[2J\u{7f}"`},
		{"C1 controls", "\u0085\u009b31m", `"\u{85}\u{9b}31m"`},
		{"bidi overrides and isolates", "\u202e\u2066\u2069\u200e\u061c", `"\u{202e}\u{2066}\u{2069}\u{200e}\u{61c}"`},
		{"zero width", "a\u200bb\u200d\u2060\ufeff", `"a\u{200b}b\u{200d}\u{2060}\u{feff}"`},
		{"soft hyphen and line separators", "\u00ad\u2028\u2029", `"\u{ad}\u{2028}\u{2029}"`},
		{"spaces that are not the space", "\u00a0\u2003\u3000", `"\u{a0}\u{2003}\u{3000}"`},
		{"fillers that are letters", "\u115f\u3164\uffa0", `"\u{115f}\u{3164}\u{ffa0}"`},
		{"the empty braille cell", "\u2800", `"\u{2800}"`},
		{"variation selectors", "a\ufe0f\U000e0100", `"a\u{fe0f}\u{e0100}"`},
		{"tags", "\U000e0041", `"\u{e0041}"`},
		{"private use and unassigned", "\ue000\U000efffe\u0378", `"\u{e000}\u{efffe}\u{378}"`},
		{"bytes that are not text", "a\xff\xc3(", `"a\x{ff}\x{c3}("`},
		{"a surrogate in bytes", "\xed\xa0\x80", `"\x{ed}\x{a0}\x{80}"`},
		{"the replacement character itself", "\ufffd", "\"\ufffd\""},
		{"names in other scripts", "层.вес.重み.שלום", `"层.вес.重み.שלום"`},
		{"marks on letters", "e\u0301 नमस्ते ที่", "\"e\u0301 नमस्ते ที่\""},
		{"a mark with no letter", "\u0301a \u0301", "\"\\u{301}a \\u{301}\""},
		{"a tower of marks", "a" + strings.Repeat("\u0301", 6), "\"a" + strings.Repeat("\u0301", 4) + "\\u{301}\\u{301}\""},
		{"a long name", strings.Repeat("x", 65), `"` + strings.Repeat("x", 61) + `…"`},
		{"a name that just fits", strings.Repeat("x", 64), `"` + strings.Repeat("x", 64) + `"`},
		{"a long name of wide letters", strings.Repeat("层", 22), `"` + strings.Repeat("层", 20) + `…"`},
		{"escapes are not cut", strings.Repeat("\x1b", 20), `"` + strings.Repeat(`\u{1b}`, 10) + `…"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, wire.Quote(c.in)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestCleanKeepsItsLimit(t *testing.T) {
	texts := []string{"", "a", "ab", "abc", "abcd", "层层", "\x00", "a\x00b", strings.Repeat("é\x1b", 40)}
	for _, s := range texts {
		for limit := range 100 {
			got := wire.Clean(s, limit)
			if len(got) > limit || !utf8.ValidString(got) {
				t.Errorf("Clean(%q, %d) is %q, %d bytes", s, limit, got, len(got))
			}
		}
	}
}

// Every rune there is, at the start and behind a letter: nothing that a reader
// cannot see gets through.
func TestCleanOfEveryRune(t *testing.T) {
	hidden := []*unicode.RangeTable{unicode.C, unicode.Z, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		for _, out := range wire.Clean(string(r)+"a"+string(r), 64) {
			if out > '~' && (!unicode.IsGraphic(out) || unicode.In(out, hidden...)) || out < ' ' {
				t.Fatalf("%U lets %U through", r, out)
			}
		}
	}
}

// Two names that differ must not look the same in a message unless they were cut.
func TestCleanIsUnambiguous(t *testing.T) {
	parts := []string{"a", `\`, `"`, "u{1b}", "\x1b", "\xff", `x{ff}`, `\u{1b}`, "\u0301", " "}
	seen := map[string]string{}
	for _, a := range parts {
		for _, b := range parts {
			for _, c := range parts {
				s := a + b + c
				got := wire.Clean(s, 1000)
				if other, ok := seen[got]; ok && other != s {
					t.Errorf("%q and %q are both %s", s, other, got)
				}
				seen[got] = s
			}
		}
	}
}

func TestMessage(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"quotes and backslashes stand", `tensor "a\u{1b}": no`, `tensor "a\u{1b}": no`},
		{"controls do not", "open a\x1b[2Jb\n: no such file", `open a\u{1b}[2Jb\u{a}: no such file`},
		{"nor bytes that are not text", "open \xff", `open \x{ff}`},
		{"a long one is cut", strings.Repeat("é", 3000), strings.Repeat("é", 1022) + "…"},
		{"a long plain one is cut", strings.Repeat("x", 3000), strings.Repeat("x", 2045) + "…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := errors.New(c.in)
			if d := cmp.Diff(c.want, wire.Message(err)); d != "" {
				t.Error(d)
			}
			placed := wire.At("npy", "", wire.NoOffset, err).Error()
			if len(placed) > wire.MaxMessage || !utf8.ValidString(placed) || strings.ContainsRune(placed, '\x1b') {
				t.Errorf("%q", placed)
			}
		})
	}
}
