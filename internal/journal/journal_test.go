package journal_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/journal"
	"github.com/anamnesis-go/anamnesis/limits"
)

var (
	key   = []byte("a key of sixteen")
	facts = []journal.Fact{{Name: "version", Value: "1"}, {Name: "input a \"b\"\n", Value: "x\x00\xff"}, {Name: "empty", Value: ""}}
	some  = []journal.Record{
		{Task: 0, Lo: 0, Hi: 4, Pieces: []journal.Piece{{File: 0, Off: 8, Len: 4, Sum: [32]byte{1, 2}}}},
		{Task: 1, Lo: 3, Hi: 9, Counts: [4]int64{1, 2, 3, 4}},
		{Task: 0, Lo: 4, Hi: 4, End: true, Pieces: []journal.Piece{{Off: 1 << 40, Len: 1}, {File: 3, Off: 2, Len: 7}}},
	}
)

func begun(t *testing.T) (*os.File, *limits.Budget) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "journal"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	j, err := journal.Begin(f, key, facts)
	if err != nil {
		t.Fatal(err)
	}
	for i := range some {
		if err := j.Append(&some[i]); err != nil {
			t.Fatal(err)
		}
	}
	b := limits.Policy{}.Budget(t.Context())
	t.Cleanup(b.Close)
	return f, b
}

func read(t *testing.T, b *limits.Budget, f *os.File) (list []journal.Record, j *journal.Journal, err error) {
	t.Helper()
	j, err = journal.Open(b, f, key, facts)
	if err != nil {
		return nil, nil, err
	}
	err = j.Each(b, func(r *journal.Record) error {
		one := *r
		one.Pieces = append([]journal.Piece(nil), r.Pieces...)
		list = append(list, one)
		return nil
	})
	return list, j, err
}

func TestAJournalIsReadAsItWasWritten(t *testing.T) {
	f, b := begun(t)
	got, j, err := read(t, b, f)
	if d := cmp.Diff(some, got); d != "" || err != nil {
		t.Fatal(d, err)
	}
	more := journal.Record{Task: 7, Hi: 1}
	if err := j.Append(&more); err != nil {
		t.Fatal(err)
	}
	got, _, err = read(t, b, f)
	if d := cmp.Diff(append(some[:3:3], more), got); d != "" || err != nil {
		t.Fatal(d, err)
	}
	// A record that is too long is left out, and nothing else.
	if err := j.Append(&journal.Record{Pieces: make([]journal.Piece, journal.MaxPieces+1)}); err != nil {
		t.Fatal(err)
	}
	if got, _, err = read(t, b, f); len(got) != 4 || err != nil {
		t.Fatal(len(got), err)
	}
}

// Whatever bit of a journal changes, what is read is a beginning of what was written, and the
// lines of the header are read whole or not at all.
func TestNoBitOfAJournalChangesUnnoticed(t *testing.T) {
	f, b := begun(t)
	whole, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	head := bytes.Index(whole, []byte("\nr "))
	for at := range whole {
		for bit := range 8 {
			p := bytes.Clone(whole)
			p[at] ^= 1 << bit
			if _, err := f.WriteAt(p, 0); err != nil {
				t.Fatal(err)
			}
			got, _, err := read(t, b, f)
			if bad, ok := errors.AsType[*journal.Unusable](err); at <= head && (!ok || bad.Why == "") || at > head && err != nil {
				t.Fatalf("byte %d, bit %d: %v", at, bit, err)
			}
			if at > head && (len(got) >= len(some) || len(got) > 0 && cmp.Diff(some[:len(got)], got) != "") {
				t.Fatalf("byte %d, bit %d: %d records", at, bit, len(got))
			}
		}
	}
	for n := range whole {
		if err := os.WriteFile(f.Name(), whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if got, _, err := read(t, b, f); n > head && (err != nil || len(got) == len(some)) || n <= head && err == nil {
			t.Fatalf("%d bytes: %d records, %v", n, len(got), err)
		}
	}
}

func TestRecordsThatAreMovedAreDropped(t *testing.T) {
	f, b := begun(t)
	whole, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"swapped":       {strings.Join(lines[:5], "") + lines[6] + lines[5] + lines[7], 0},
		"one left out":  {strings.Join(lines[:5], "") + lines[6] + lines[7], 0},
		"one twice":     {strings.Join(lines[:6], "") + lines[5] + lines[6] + lines[7], 1},
		"an empty line": {strings.Join(lines[:6], "") + "\n" + lines[6] + lines[7], 1},
		"a long line":   {strings.Join(lines[:6], "") + strings.Repeat("9", 1<<20) + "\n" + lines[6], 1},
		"in order":      {string(whole), 3},
	} {
		if err := os.WriteFile(f.Name(), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, j, err := read(t, b, f)
		if len(got) != c.want || err != nil {
			t.Errorf("%s: %d records, want %d, %v", name, len(got), c.want, err)
			continue
		}
		if err := errors.Join(j.Cut(), j.Append(&some[1])); err != nil {
			t.Fatal(err)
		}
		if got, _, err := read(t, b, f); len(got) != c.want+1 || err != nil {
			t.Errorf("%s: %d records after one more, %v", name, len(got), err)
		}
	}
}

func TestAJournalOfAnotherJobNamesTheDifference(t *testing.T) {
	f, b := begun(t)
	for name, c := range map[string]struct{ now, was, is []journal.Fact }{
		"another value": {[]journal.Fact{{"version", "2"}, facts[1], facts[2]}, facts[:1], []journal.Fact{{"version", "2"}}},
		"one less":      {facts[:2], facts[2:], []journal.Fact{{"empty", ""}}},
		"one more":      {append(facts[:3:3], journal.Fact{Name: "x", Value: "y"}), []journal.Fact{{"x", ""}}, []journal.Fact{{"x", "y"}}},
		"one between":   {[]journal.Fact{facts[0], {"x", "y"}, facts[1], facts[2]}, []journal.Fact{{"x", ""}}, []journal.Fact{{"x", "y"}}},
		"other order":   {[]journal.Fact{facts[1], facts[0], facts[2]}, facts[:1], facts[1:2]},
	} {
		_, err := journal.Open(b, f, key, c.now)
		d, ok := errors.AsType[*journal.Differs](err)
		if !ok {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(c.was, d.Was) + cmp.Diff(c.is, d.Now); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if _, err := journal.Open(b, f, []byte("the key of a stranger"), facts); !errors.As(err, new(*journal.Unusable)) {
		t.Error(err)
	}
}
