package rules_test

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/hub/rules"
	"github.com/anamnesis-go/anamnesis/hub/store"
)

// built is what internal/sources prints, with the digests of some packages changed.
func built(t *testing.T, changed ...string) string {
	t.Helper()
	out, err := exec.Command("go", "run", "../internal/sources").Output()
	if err != nil {
		t.Fatal(err)
	}
	text := string(out)
	for _, p := range changed {
		i := strings.Index(" "+text, " "+p+"=")
		if i < 0 {
			t.Fatalf("there is no %s in %s", p, text)
		}
		i += len(p) + 1
		text = text[:i] + strings.Repeat("0", 32) + text[i+32:]
	}
	return text
}

func parts(t *testing.T, sources string) map[string]string {
	t.Helper()
	p, err := rules.Parts("v1", sources)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAChangeTouchesWhatItsRulesRead(t *testing.T) {
	base := built(t)
	now := parts(t, base)
	if len(now) != len(gate.Rules())+1 {
		t.Errorf("%d parts of %d rules", len(now), len(gate.Rules()))
	}
	if again := parts(t, base); len(rules.Changed(now, again)) != 0 {
		t.Error("the same sources are another program")
	}
	for _, c := range []struct {
		changed string
		want    []string
	}{
		{"parser/gguf", []string{"format:ggml", "format:gguf", "open", "rule:gguf"}},
		{"gate", []string{store.Everything}}, {"vm", []string{store.Everything}}, {"parser", []string{store.Everything}}, {"internal/polyglot", []string{store.Everything}}, {"others", []string{store.Everything}},
	} {
		got := rules.Touches(now, parts(t, built(t, c.changed)))
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.changed, got, c.want)
		}
	}
	// A rule that is new, and one that is gone, are changes too.
	fewer := parts(t, base)
	delete(fewer, "gguf.alignment")
	for _, got := range [][]string{rules.Touches(now, fewer), rules.Touches(fewer, now)} {
		if !slices.Contains(got, "format:gguf") || slices.Contains(got, store.Everything) {
			t.Errorf("%v", got)
		}
	}
	delete(fewer, "pickle.global")
	if got := rules.Touches(fewer, now); !slices.Equal(got, []string{store.Everything}) {
		t.Errorf("%v", got)
	}
}

// A program that does not know its sources, and one that knows them, share nothing.
func TestWithoutSourcesEverythingIsTouched(t *testing.T) {
	bare := func(version string) map[string]string {
		p, err := rules.Parts(version, "")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if got := rules.Touches(bare("v1"), bare("v1")); len(got) != 0 {
		t.Errorf("%v", got)
	}
	known := parts(t, built(t))
	for _, c := range [][2]map[string]string{{bare("v1"), bare("v2")}, {bare("v1"), known}, {known, bare("v1")}, {nil, known}, {{}, bare("v1")}} {
		if got := rules.Touches(c[0], c[1]); !slices.Equal(got, []string{store.Everything}) {
			t.Errorf("%v", got)
		}
	}
	for _, bad := range []string{"x", "parser/gguf=12", "a=" + strings.Repeat("0", 32), "../x=" + strings.Repeat("0", 32), built(t) + " gate=" + strings.Repeat("0", 32)} {
		if _, err := rules.Parts("v1", bad); err == nil {
			t.Errorf("%.40q was taken", bad)
		}
	}
}

func TestFacts(t *testing.T) {
	for text, want := range map[string]string{
		`{"contents":[{"format":"gguf","class":"ok"},{"class":"ok"}],"findings":[{"rule":"gguf.alignment"}]}`: "[beside format:gguf rule:gguf]",
		`{"contents":[{"class":"malformed"}],"refusals":[{"rule":"npz.syntax"}]}`:                             "[open rule:npz]",
		`{"contents":[{"format":"gzip","class":"ok"}]}`:                                                       "[open]",
		`{}`: "[open]",
	} {
		if got, err := rules.Facts([]byte(text)); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if _, err := rules.Facts([]byte("x")); err == nil {
		t.Error("what is no verdict has facts")
	}
}
