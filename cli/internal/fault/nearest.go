package fault

import (
	"fmt"
	"strings"
)

// Nearest returns a "did you mean" question with the word of a list that is nearest to the mistyped
// one, or "" if none is near.
func Nearest(word string, known []string) string {
	if found := nearestOf(word, known); found != "" {
		return fmt.Sprintf(", did you mean %q?", found)
	}
	return ""
}

// nearestOf returns the word of a list that is nearest to the mistyped word, or "" if more
// than a third of the letters differ. Case and separators do not count.
func nearestOf(word string, known []string) string {
	best, found := max(1, len(word)/3)+1, ""
	for _, k := range known {
		if d := min(edits(word, k), edits(Letters(word), Letters(k))); d < best {
			best, found = d, k
		}
	}
	return found
}

// Letters returns a word in lower case, without separators.
func Letters(word string) string {
	return strings.NewReplacer("_", "", "-", "", ".", "").Replace(strings.ToLower(word))
}

// edits returns the number of insertions, deletions, substitutions and swaps of neighbours
// between a and b (the optimal string alignment distance).
func edits(a, b string) int {
	before, last, row := make([]int, 64), make([]int, 64), make([]int, 64)
	if len(a) > 32 || len(b) > 32 {
		return len(a) + len(b)
	}
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
