package polyglot_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/internal/polyglot"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Media files that their libraries wrote (crosscheck/kinds/media.py) are recognized only if they
// are complete: a file that is cut anywhere, or has trailing bytes, is not.
func TestMediaAreRecognizedByTheirWholeStructure(t *testing.T) {
	ledger.Charges(t)
	paths, err := filepath.Glob("../../testdata/media/*.*")
	if err != nil || len(paths) < 15 {
		t.Fatal(len(paths), err)
	}
	harmless := func(p []byte) string {
		t.Helper()
		b := limits.Policy{}.Budget(t.Context())
		defer b.Close()
		what, err := polyglot.Harmless(b, bytes.NewReader(p), int64(len(p)))
		if err != nil {
			t.Fatal(err)
		}
		return what
	}
	for _, path := range paths {
		p, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if harmless(p) == "" {
			t.Errorf("%s is not told", path)
			continue
		}
		if got := harmless(append(p[:len(p):len(p)], strings.Repeat("another file", 20)...)); got != "" {
			t.Errorf("%s with something behind it: %s", path, got)
		}
		if strings.HasSuffix(path, ".mp3") || strings.HasSuffix(path, ".pdf") { // the last frame may be cut; a document is recognized by its end
			continue
		}
		for _, n := range []int{len(p) / 3, len(p) / 2, len(p) - 9} {
			if got := harmless(p[:n]); got != "" {
				t.Errorf("%s cut at %d of %d: %s", path, n, len(p), got)
			}
		}
	}
}
