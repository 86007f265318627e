package main

import (
	"slices"
	"testing"
)

// A path that is called as the flag allows nothing.
func TestCutFlag(t *testing.T) {
	for _, c := range []struct {
		args, rest []string
		given      bool
	}{
		{nil, nil, false},
		{[]string{"scan", "a"}, []string{"scan", "a"}, false},
		{[]string{"scan", allowPrivate, "a"}, []string{"scan", "a"}, true},
		{[]string{"scan", "a", allowPrivate}, []string{"scan", "a"}, true},
		{[]string{"scan", "--", allowPrivate, "a"}, []string{"scan", "--", allowPrivate, "a"}, false},
		{[]string{allowPrivate, "scan", "--", allowPrivate}, []string{"scan", "--", allowPrivate}, true},
	} {
		if rest, given := cutFlag(c.args); !slices.Equal(rest, c.rest) || given != c.given {
			t.Errorf("%q: %q, %v", c.args, rest, given)
		}
	}
}
