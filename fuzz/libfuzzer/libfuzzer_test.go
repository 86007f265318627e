package libfuzzer

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// ended runs f and returns what it panicked with.
func ended(f func()) (with any) {
	defer func() { with = recover() }()
	f()
	return nil
}

func TestTargetIsSetUpOnceAndRunOften(t *testing.T) {
	setUps, got := 0, []string{}
	run := Load(func(f *F) {
		setUps++
		f.Add([]byte("a seed"))
		f.Fuzz(func(t *T, data []byte) {
			if t.Context().Err() != nil {
				t.Fatal("the context has ended")
			}
			got = append(got, string(data))
		})
	})
	run([]byte("a"))
	run([]byte("b"))
	if setUps != 1 || len(got) != 2 || got[1] != "b" {
		t.Errorf("%d times set up, run with %q", setUps, got)
	}
}

func TestHowAnInputEnds(t *testing.T) {
	for name, c := range map[string]struct {
		body func(*T)
		want any
	}{
		"taken":     {func(*T) {}, nil},
		"skipped":   {func(t *T) { t.Skip("not this one"); t.Fatal("went on") }, nil},
		"wrong":     {func(t *T) { t.Fatalf("is %d", 5) }, "is 5"},
		"reported":  {func(t *T) { t.Errorf("is %d", 5) }, "the target reported an error"},
		"in a part": {func(t *T) { t.Run("part", func(t *T) { t.Error("is 5") }) }, "the target reported an error"},
		"panic":     {func(*T) { panic("ours") }, "ours"},
	} {
		run := Load(func(f *F) { f.Fuzz(func(t *T, _ []byte) { c.body(t) }) })
		if got := ended(func() { run(nil) }); got != c.want {
			t.Errorf("%s: ended with %v, want %v", name, got, c.want)
		}
	}
}

func TestFolderOfAnInputIsRemoved(t *testing.T) {
	var folder string
	run := Load(func(f *F) {
		f.Fuzz(func(t *T, _ []byte) {
			folder = t.TempDir()
			if err := os.WriteFile(filepath.Join(folder, "x"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			t.Fatal("after a file was written")
		})
	})
	if ended(func() { run(nil) }) == nil {
		t.Error("the failure was lost")
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", folder, err)
	}
}

func TestTargetOfMoreThanBytesIsRefused(t *testing.T) {
	if ended(func() { Load(func(f *F) { f.Fuzz(func(*T, []byte, int) {}) }) }) == nil {
		t.Error("taken")
	}
}

func TestSeedsAreWritten(t *testing.T) {
	folder := t.TempDir()
	if err := WriteSeeds(folder, map[string]func(*F){
		"FuzzX":    func(f *F) { f.Add([]byte("one")); f.Add("text", 5); f.Add([]byte{}) },
		"FuzzNone": func(f *F) { f.Add("text") },
	}); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(folder, "FuzzX"))
	if err != nil || len(entries) != 2 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	if data, err := os.ReadFile(filepath.Join(folder, "FuzzX", "0")); err != nil || !bytes.Equal(data, []byte("one")) {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := os.Stat(filepath.Join(folder, "FuzzNone")); err == nil {
		t.Error("a folder without seeds")
	}
}

func TestGuardAbortsOnAPanicAlone(t *testing.T) {
	aborted := 0
	abort := func() { aborted++ }
	Guard(abort, func() {})
	if aborted != 0 {
		t.Error("aborted without a panic")
	}
	Guard(abort, func() { panic("ours") })
	if aborted != 1 {
		t.Error("not aborted")
	}
}
