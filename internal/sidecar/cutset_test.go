package sidecar

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Sets do what package strings does, of any bytes.
func TestCutsetsAreThoseOfPackageStrings(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	pieces := []string{" ", "\t", "\r", "\n", "-", ":", "=", ",", "{", "}", "[", "]", "\"", "'", "a", "é", "\u0085", "\u2028", "\u2029", "\u202a", "\xc2", "\x85", "\xe2", "\x80", "\xa8", "\xff", "\u00a8"}
	sets := []string{" \t", " \t\r", " \t-", " \t\"'", " \t\r\"',", ":=", "{[", ",{}[]"}
	for range 200_000 {
		text := ""
		for range random.IntN(12) {
			text += pieces[random.IntN(len(pieces))]
		}
		chars := sets[random.IntN(len(sets))]
		set := cutsetOf(chars)
		var parts []string
		set.fields(text, func(part string) error { parts = append(parts, part); return nil })
		switch {
		case set.trimLeft(text) != strings.TrimLeft(text, chars), set.trimRight(text) != strings.TrimRight(text, chars), set.trim(text) != strings.Trim(text, chars),
			set.index(text) != strings.IndexAny(text, chars), set.lastIndex(text) != strings.LastIndexAny(text, chars),
			!slices.Equal(parts, strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(chars, c) })),
			breakAt(text) != strings.IndexAny(text, breaks), trimBreaks(text) != strings.TrimLeft(text, breaks):
			t.Fatalf("%q, %q", text, chars)
		}
	}
}
