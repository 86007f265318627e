package sidecar_test

import (
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/sidecar"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A text that ends before its size is truncated, and does not count as judged.
func TestATextThatIsReadWholeHasItsSize(t *testing.T) {
	truncated := 0
	for _, name := range []string{"latest", "checkpoint", "setup.py", "chat_template.jinja", "a/.git/config", "a/.git/HEAD", ".gitmodules", "requirements.txt", ".gitattributes", "a/.git", "notes.json", "start"} {
		b := limits.Policy{}.Budget(t.Context())
		_, err := sidecar.Check(b, sidecar.Text{Name: name, R: strings.NewReader("global_step1"), Size: 100})
		b.Close()
		switch wire.ClassOf(err) {
		case wire.Truncated:
			truncated++
		case wire.Internal:
			t.Errorf("%s: %v", name, err)
		}
	}
	if truncated < 4 {
		t.Errorf("only %d texts are truncated", truncated)
	}
}
