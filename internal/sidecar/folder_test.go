package sidecar

import (
	"path"
	"strings"
	"testing"
)

// A mark is compared as a beginning and an end, which is what path.Match does for one star and no
// other sign.
func TestMarksMatchAsPatterns(t *testing.T) {
	patterns := otherMarks
	for _, k := range folderKinds {
		patterns = append(patterns, k.Marks...)
	}
	stars, _ := marks()
	of := map[string]bool{}
	for _, m := range stars {
		of[m.before+"*"+m.after] = true
	}
	for _, p := range patterns {
		if strings.ContainsAny(p, `?[\`) || strings.Count(p, "*") > 1 {
			t.Errorf("%s has more than one star", p)
		}
		if strings.Contains(p, "*") != of[p] {
			t.Errorf("%s is not among the patterns", p)
		}
		before, after, _ := strings.Cut(p, "*")
		for _, name := range []string{before + after, before + "x" + after, before, after, "x" + p, p + "x", before + after[min(1, len(after)):], strings.ToUpper(p)} {
			want, err := path.Match(p, name)
			if got := (mark{before: before, after: after}).has(name); err != nil || of[p] && got != want {
				t.Errorf("%s and %q: %t, path.Match says %t, %v", p, name, got, want, err)
			}
			if name = path.Base(name); of[p] && want && MarkOf(name) == 0 {
				t.Errorf("%q is a file of no kind", name)
			}
		}
	}
}
