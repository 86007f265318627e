package arch

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/npy"
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

// What a diff shows as there is there, or the example has grown old.
func TestDiffsOfContributingApply(t *testing.T) {
	for _, d := range diffs(t) {
		file, text := "", ""
		for line := range strings.Lines(d) {
			line = strings.TrimSuffix(line, "\n")
			if name, ok := strings.CutPrefix(line, "--- a/"); ok {
				file, text = name, squeeze(read(t, name))
				continue
			}
			if strings.HasPrefix(line, "--- /dev/null") {
				file = ""
			}
			context, ok := strings.CutPrefix(line, " ")
			if head, hunk := strings.CutPrefix(line, "@@ "); hunk && !strings.Contains(head, " @@") {
				context, ok = head, true
			}
			if ok && file != "" && !strings.Contains(text, squeeze(context)) {
				t.Errorf("%s does not hold %q", file, context)
			}
		}
	}
}

// A file that a diff shows whole, and that the tree has, is the tree's byte for byte: so it
// compiles, and is vetted and tested with it.
func TestFilesThatContributingShowsAreThoseOfTheTree(t *testing.T) {
	shown := 0
	for _, d := range diffs(t) {
		for _, part := range strings.Split(d, "--- ")[1:] {
			head, body, _ := strings.Cut(part, "@@\n")
			name := regexp.MustCompile(`\+\+\+ b/(\S+)`).FindStringSubmatch(head)
			if !strings.HasPrefix(part, "/dev/null\n") || name == nil {
				continue
			}
			want, err := os.ReadFile(filepath.Join(root(t), name[1]))
			if errors.Is(err, fs.ErrNotExist) {
				continue // one to be added
			}
			var text strings.Builder
			for line := range strings.Lines(body) {
				text.WriteString(strings.TrimPrefix(line, "+"))
			}
			if shown++; err != nil || text.String() != string(want) {
				t.Errorf("%s is not as shown: %v", name[1], err)
			}
		}
	}
	if shown < 2 {
		t.Errorf("%d files of the tree are shown whole", shown)
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
		for _, m := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(read(t, doc), -1) {
			if _, err := os.Stat(filepath.Join(root(t), m[1])); err != nil {
				t.Errorf("%s: %v", doc, err)
			}
		}
	}
}
