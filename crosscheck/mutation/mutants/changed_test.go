package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A clone with a tag, one without, one whose tag is the commit itself, and sources without a history.
func TestSinceWhenSomethingChanged(t *testing.T) {
	dir := t.TempDir()
	if names, since := changedFiles(filepath.Join(dir, "none")); names != "" || !strings.Contains(since, "no history") {
		t.Errorf("without a history: %q since %s", names, since)
	}
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	commit := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		run("add", ".")
		run("commit", "-qm", name)
	}
	run("init", "-q")
	commit("a.go")
	commit("b.go")
	is := func(wantNames, wantSince string) {
		t.Helper()
		names, since := changedFiles(dir)
		if got := strings.Join(strings.Fields(names), " "); got != wantNames || !strings.Contains(since, wantSince) {
			t.Errorf("%q since %s, not %q since %s", got, since, wantNames, wantSince)
		}
	}
	is("b.go a.go", "last commits")
	run("tag", "v1")
	is("b.go a.go", "last commits")
	commit("c.go")
	is("c.go", "v1")
}

// The sample is the same for a seed, and as many of each package as there are or as fit.
func TestASampleHasAllPackages(t *testing.T) {
	var all []*mutant
	for i := range 300 {
		pkg := "few"
		if i >= 3 {
			pkg = []string{"a", "b"}[i%2]
		}
		all = append(all, &mutant{ID: i, Package: pkg, Operator: []string{"bound", "constant", "statement"}[i%3]})
	}
	of := func(seed string) (ids []int, per map[string]int) {
		per = map[string]int{}
		for _, m := range sampleEach(all, 31, seed) {
			ids, per[m.Package] = append(ids, m.ID), per[m.Package]+1
		}
		return ids, per
	}
	ids, per := of("x")
	if per["few"] != 3 || per["a"] != 14 || per["b"] != 14 {
		t.Errorf("%v", per)
	}
	again, _ := of("x")
	other, _ := of("y")
	if len(ids) != 31 || !slices.Equal(ids, again) || slices.Equal(ids, other) {
		t.Errorf("%v, then %v, and %v of another seed", ids, again, other)
	}
}
