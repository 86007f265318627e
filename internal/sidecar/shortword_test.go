package sidecar

import (
	"math/rand/v2"
	"testing"
)

// A text that counts as a short word names nothing by the full rule either.
func TestShortWordsNameNothing(t *testing.T) {
	const letters = "aZ09_.$({%`&|/\\~;:[ \t\nx"
	rand := rand.New(rand.NewPCG(1, 2))
	short := 0
	for range 200_000 {
		text := make([]byte, rand.IntN(packedLen+3))
		for i := range text {
			text[i] = letters[rand.IntN(len(letters))]
			if rand.IntN(4) > 0 {
				text[i] = letters[rand.IntN(4)]
			}
		}
		if len(text) < 2 || !isShortWord(string(text)) {
			continue
		}
		short++
		if what := couldNameBy(string(text)); what != "" {
			t.Fatalf("%q is taken for a short word, and could be %s", text, what)
		}
	}
	if short < 1000 {
		t.Fatalf("%d short words were tried", short)
	}
}
