package gate_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/google/go-cmp/cmp"
)

// lay writes files below a new folder; a content "-> x" is a link to x.
func lay(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, data := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(path), 0o777)
		if to, link := strings.CutPrefix(data, "-> "); err == nil && link {
			err = os.Symlink(to, path)
		} else if err == nil {
			err = os.WriteFile(path, []byte(data), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// walked lists a gate's verdicts on a path: "name: class rule".
func walked(t *testing.T, g *gate.Gate, path string) (list []string) {
	t.Helper()
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	for v, err := range g.CheckPath(b, path) {
		if err != nil {
			t.Fatal(err)
		}
		text := v.Name + ": " + v.Class().String()
		for _, r := range v.Refusals() {
			text += " " + r.Rule
		}
		switch {
		case v.Excluded:
			text += " excluded"
		case v.Harmless != "":
			text += " " + v.Harmless
		}
		list = append(list, text)
	}
	limitstest.NoLeak(t, b)
	return list
}

func TestAFolderIsWalked(t *testing.T) {
	root := lay(t, map[string]string{
		"README.md": "a note\n", "m.safetensors": empty, "sub/evil.bin": evil, "sub/x.lz4": packed,
		"link": "-> sub/x.lz4", "out": "-> /etc/passwd", "folder": "-> sub", "gone": "-> nothing", "left/a.lz4": packed,
	})
	g := gate.New(gate.Policy{})
	g.Exclude = func(name string) bool { return strings.HasPrefix(name, "left/") }
	want := []string{
		"README.md: ok a text",
		"folder: ok a link to a folder of this one",
		"gone: unsupported gate.unlooked",
		"left/a.lz4: ok excluded",
		"link: unsupported gate.unlooked",
		"m.safetensors: ok",
		"out: unsupported gate.unlooked",
		"sub/evil.bin: forbidden pickle.global pickle.call",
		"sub/x.lz4: unsupported gate.unlooked",
	}
	if d := cmp.Diff(want, walked(t, g, root)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"evil.bin: forbidden pickle.global pickle.call"}, walked(t, g, filepath.Join(root, "sub", "evil.bin"))); d != "" {
		t.Error(d)
	}
	if got := walked(t, g, filepath.Join(root, "absent")); len(got) != 1 || got[0] != "absent: internal gate.internal" {
		t.Errorf("%q", got)
	}
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	for range g.CheckPath(b, root) {
		break // and nothing is yielded after it, which would panic
	}
}

func TestPatternsOfPaths(t *testing.T) {
	const file = "sub/x.lz4"
	for pattern, ok := range map[string]bool{
		"x.lz4": true, "*.lz4": true, "sub/*.lz4": true, "**/x.lz4": true, "**/*": true, "sub/**": true, "**/sub/**/x.lz4": true,
		"/x.lz4": false, "*/y.lz4": false, "*/*/x.lz4": false, "**/other/*": false, "sub": false,
	} {
		p := gate.Policy{Ignore: []gate.Exception{{Rule: "gate.unlooked", Path: pattern, Reason: "r"}}}
		root := lay(t, map[string]string{file: packed})
		if got := walked(t, gate.New(p), root); (got[0] == file+": ok") != ok {
			t.Errorf("%s: %q", pattern, got)
		}
	}
}

func TestProfiles(t *testing.T) {
	if want := []string{"server", "strict", "edge", "upload", "tabular", "training"}; !slices.Equal(gate.Profiles(), want) {
		t.Errorf("%q", gate.Profiles())
	}
	for _, name := range gate.Profiles() {
		p, ok := gate.Profile(name)
		text, err := p.MarshalJSON()
		if !ok || err != nil {
			t.Fatal(name, err)
		}
		again, err := gate.ParsePolicy(text)
		if second, _ := again.MarshalJSON(); err != nil || string(second) != string(text) {
			t.Errorf("%s is not read as it is written: %v", name, err)
		}
	}
	if _, ok := gate.Profile("none"); ok {
		t.Error("an unknown profile")
	}
	strict, _ := gate.Profile("strict")
	if strict.FailOn != gate.FailOnWarning || strict.Limits.RefusesFinding("gguf.split") {
		t.Errorf("%+v", strict)
	}
	upload, _ := gate.Profile("upload")
	if n := upload.Limits.Limit(limits.Total); n != 64<<20 {
		t.Errorf("upload holds %d bytes", n)
	}
}
