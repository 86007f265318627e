package arch

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/npy"
	"github.com/google/go-cmp/cmp"
)

// diffs lists the diffs that CONTRIBUTING.md shows.
func diffs(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, m := range regexp.MustCompile("(?s)```diff\n(.*?)```").FindAllStringSubmatch(read(t, "CONTRIBUTING.md"), -1) {
		out = append(out, m[1])
	}
	if len(out) < 4 {
		t.Fatalf("only %d diffs found", len(out))
	}
	return out
}

// The table of costs has one row for each diff, with what the diff touches, and no other row.
func TestCostsOfContributingAreThoseOfItsDiffs(t *testing.T) {
	want := []string{"| change | files | lines |", "|---|---|---|"}
	for _, e := range examples(t) {
		files, lines := 0, 0
		for _, c := range changesOf(e.diff) {
			files++
			for _, line := range c.lines {
				if strings.HasPrefix(line, "+") || strings.HasPrefix(line, "-") {
					lines++
				}
			}
		}
		want = append(want, fmt.Sprintf("| %s | %d | %d |", strings.TrimPrefix(e.title, "Add "), files, lines))
	}
	_, section, _ := strings.Cut(read(t, "CONTRIBUTING.md"), "\n## What a change costs\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var got []string
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "|") {
			got = append(got, strings.TrimSuffix(line, "\n"))
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the table of costs differs from the diffs (-diffs +table):\n%s", d)
	}
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// The recipe shown is refused as it says.
func TestTheRecipeOfContributingIsRefused(t *testing.T) {
	var src strings.Builder
	for line := range strings.Lines(diffs(t)[0]) {
		if text, ok := strings.CutPrefix(line, "+"); ok && !strings.HasPrefix(line, "+++") {
			src.WriteString(text)
		}
	}
	r, err := corpus.Parse("npy", "shown", src.String(), []string{"malformed"})
	if err != nil {
		t.Fatal(err)
	}
	file, err := r.Build()
	if err != nil {
		t.Fatal(err)
	}
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	_, err = npy.Decode(b, bytes.NewReader(file), int64(len(file)))
	placed, ok := errors.AsType[*wire.Error](err)
	if !ok || wire.ClassOf(err).String() != r.Expect || placed.Off != r.Offset {
		t.Errorf("got %v, want %s at %#x", err, r.Expect, r.Offset)
	}
}

// Whatever a document links to in this repository is there.
func TestLinksOfDocumentsLead(t *testing.T) {
	for _, doc := range documents(t) {
		for _, m := range regexp.MustCompile(`\]\(([^)#:, ]+)\)`).FindAllStringSubmatch(read(t, doc), -1) {
			if _, err := os.Stat(filepath.Join(root(t), m[1])); err != nil {
				t.Errorf("%s: %v", doc, err)
			}
		}
	}
}
