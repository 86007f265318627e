package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// The owner of an action can move a tag: actions are named by the digest of their commit, in our
// workflows and in those of the guides.
func TestActionsArePinnedByDigest(t *testing.T) {
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no workflows: %v", err)
	}
	uses := regexp.MustCompile(`(?m)^\s*(?:- )?uses: (\S+)(.*)$`)
	pinned := regexp.MustCompile(`^[\w./-]+@[0-9a-f]{40}$`)
	for _, file := range append(files, "../../action.yml", "../../docs/pipelines.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range uses.FindAllStringSubmatch(string(text), -1) {
			if own := m[1] == "anamnesis-go/anamnesis@main"; !own && !pinned.MatchString(m[1]) {
				t.Errorf("%s: %s is not pinned by digest", file, m[1])
			}
		}
	}
}
