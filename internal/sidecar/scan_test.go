package sidecar

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// scan goes past most bytes of a plain text at once; next goes past each.
func TestScanEqualsItsBytes(t *testing.T) {
	const marks = "ab:?-#\"'[]{},|>!&* \t\\1\n%"
	rand := rand.New(rand.NewPCG(34, 0))
	for range 200_000 {
		text := make([]byte, rand.IntN(24))
		for i := range text {
			if text[i] = marks[rand.IntN(len(marks))]; rand.IntN(2) == 0 {
				text[i] = 'a'
			}
		}
		whole, each := newQuoting(), newQuoting()
		for _, part := range strings.Split(string(text), "\n") {
			comment := len(part)
			if each.mode == aComment {
				comment = 0
			}
			for i := 0; i < len(part) && each.mode != aComment; i++ {
				if each.next(part[i], part[i:]) {
					comment = i
				}
				each.prev = part[i]
				each.column++
			}
			if got := whole.scan(part); got != comment || whole != each {
				t.Fatalf("%q: at %q a comment at %d, want %d:\n%+v\n%+v", text, part, got, comment, whole, each)
			}
			if rand.IntN(3) > 0 { // else the line goes on in another part
				whole.end()
				each.end()
			}
		}
	}
}

// Expressions are compiled when a file asks for them, and each of them can be.
func TestEachExpressionCompiles(t *testing.T) {
	for _, keys := range []map[string][]func() *regexp.Regexp{gitKeys, moduleKeys, lfsKeys} {
		for key, kinds := range keys {
			for _, is := range kinds {
				if is().String() == "" {
					t.Errorf("%s has an empty expression", key)
				}
			}
		}
	}
}
