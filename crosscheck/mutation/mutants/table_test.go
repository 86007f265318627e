package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A row counts what was run: what there was no time for is neither killed nor survived.
func TestARowCountsWhatWasRun(t *testing.T) {
	got := row("vm", []*mutant{
		{Operator: "charge dropped", Status: "killed"}, {Operator: "charge dropped", Status: "survived"}, {Operator: "bound", Status: "killed"},
		{Operator: "bound", Status: "not reached"}, {Operator: "constant"},
	})
	if want := "| `vm` | 4 | 50 % | 1 of 2 | 1 | 1 |"; !strings.HasPrefix(got, want) {
		t.Errorf("%s, not %s", got, want)
	}
}

// A mutant that is not in the sample is not in the program, and has the number that it has in it.
func TestOnlyTheSampleIsInTheProgram(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	_, all, err := mutate(root, []string{"./internal/width"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 3 {
		t.Fatalf("%d mutants", len(all))
	}
	list, again, err := mutate(root, []string{"./internal/width"}, map[int]*mutant{all[1].ID: all[1]})
	if err != nil {
		t.Fatal(err)
	}
	if len(again) != len(all) || again[1].Change != all[1].Change {
		t.Errorf("other mutants: %d, %d", len(again), len(all))
	}
	text := ""
	for _, f := range list[0].Files {
		text += f.Inserted()
	}
	if strings.Count(text, "mutant.") != 1 || !strings.Contains(text, "(1") {
		t.Errorf("inserted: %s", text)
	}
}

// A run that was printed gives the row that it would have given, and runs of two packages none.
func TestARunThatWasPrintedIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.json")
	for text, want := range map[string]int{
		"after 300 s: 1 of 2 mutants were run\n{\"Package\":\"p\",\"Status\":\"killed\"}\n{\"Package\":\"p\"}\n": 2,
		"{\"Package\":\"p\"}\n{\"Package\":\"q\"}\n":                                                             0, "": 0, "{": 0,
	} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		list, err := readRun(path)
		if len(list) != want && err == nil || (err == nil) != (want > 0) {
			t.Errorf("%q: %d mutants, %v", text, len(list), err)
		}
	}
}

// What is run again is what was not killed, wherever its line stands now.
func TestWhatWasNotKilledIsRunAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.json")
	lines := "{\"File\":\"p.go\",\"Line\":3,\"Operator\":\"bound\",\"Change\":\"a\",\"Status\":\"killed\"}\n" +
		"{\"File\":\"p.go\",\"Line\":3,\"Operator\":\"bound\",\"Change\":\"b\",\"Status\":\"survived\"}\n" +
		"{\"File\":\"q.go\",\"Line\":9,\"Operator\":\"bound\",\"Change\":\"b\"}\n"
	if err := os.WriteFile(path, []byte(lines), 0o666); err != nil {
		t.Fatal(err)
	}
	left, err := leftOf(path)
	if err != nil {
		t.Fatal(err)
	}
	for m, want := range map[mutant]bool{
		{File: "p.go", Operator: "bound", Change: "a"}: false, {File: "p.go", Line: 7, Operator: "bound", Change: "b"}: true,
		{File: "q.go", Operator: "bound", Change: "b"}: true, {File: "q.go", Operator: "bound", Change: "a"}: false,
	} {
		if left[m.key()] != want {
			t.Errorf("%+v: %v", m, left[m.key()])
		}
	}
}
