package vm

import (
	"strings"
	"testing"
)

const setHead = "set x\nabout x\nlibrary lib 1.0 1.2\nversions 1.0 1.1 1.2\nclass lib.A\n"

// A set says of each version once what a class takes.
func TestSetsOfVersionsThatContradictThemselvesAreNotRead(t *testing.T) {
	for lines, want := range map[string]string{
		"  in 1.0\n  new ()\n  in 1.1-1.2\n  call ()":            "",
		"  in 1.0 1.2\n  new ()\n  state {'v': version}":         "",
		"  in 1.3\n  new ()":                                     `"1.3" is not among the versions`,
		"  in 1.2-1.0\n  new ()":                                 `"1.2-1.0" is not among the versions`,
		"  in\n  new ()":                                         "in says no version",
		"  new ()\n  in 1.0":                                     "in comes after a line that is of all versions",
		"  in 1.0-1.1\n  new ()\n  in 1.1-1.2\n  call ()":        "has two forms",
		"  in 1.0\n  state {'a': int}":                           "is never made",
		"  in 1.0\n  new ()\n  check nosuch":                     `"nosuch" is not a rule`,
		"  in 1.0\n  new ()\n  new ()":                           `"new" appears twice`,
		"versions " + strings.Repeat("1 ", maxVersions+1) + "\n": "65 versions",
	} {
		_, err := parseSet(setHead+lines, nil)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, not %q", lines, err, want)
		}
	}
}

// A class that a set has in no possible version is none, and one use leaves the versions that take it.
func TestVersionsOfFormsAreNarrowed(t *testing.T) {
	s, err := parseSet(setHead+"  in 1.0\n  new ()\n  in 1.1\n  call ()\nclass lib.B\n  in 1.1-1.2\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	a, b := s.byName["lib.A"], s.byName["lib.B"]
	if a.versions() != 0b011 || b.versions() != 0b110 {
		t.Errorf("versions %b and %b", a.versions(), b.versions())
	}
	m := matcher{account: &account{}, g: &Graph{}}
	every := func(*form) bool { return true }
	if !m.narrow(a, m.possible(s), every, nil) || m.possible(s) != 0b011 {
		t.Errorf("%b are possible after a class of two versions", m.possible(s))
	}
	if !m.keepVersions(s, m.possible(s)&b.versions()) || m.possible(s) != 0b010 {
		t.Errorf("%b are possible after another class", m.possible(s))
	}
	if m.narrow(a, m.possible(s), func(f *form) bool { return f.new != nil }, nil) {
		t.Error("a form of a version that is not possible was taken")
	}
	if m.possible(s) != 0b010 {
		t.Errorf("%b are possible after a use that no version takes", m.possible(s))
	}
}
