package folder_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/folder"
	"github.com/google/go-cmp/cmp"
)

func TestAFolderIsListed(t *testing.T) {
	top := t.TempDir()
	root := filepath.Join(top, "root")
	for _, name := range []string{"a", ".hidden", "sub/b", ".git/config"} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"file": "sub/b", "folder": ".git", "out": top, "nowhere": "x", "self": "self", "up": "sub/.."} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Skip("no links here: ", err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, "empty"), 0o777); err != nil {
		t.Fatal(err)
	}
	kinds := map[folder.Kind]string{folder.Unread: "unread", folder.File: "file", folder.Folder: "folder", folder.Astray: "astray", folder.Special: "special"}
	var got []string
	for e := range folder.Each(root) {
		got = append(got, strings.TrimSpace(e.Name+" "+kinds[e.Kind]+" "+e.To))
	}
	want := []string{
		".git/config file", ".hidden file", "a file", "file file sub/b", "folder folder .git", "nowhere astray", "out astray", "self astray", "sub/b file", "up folder .",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for e := range folder.Each(filepath.Join(root, "absent")) {
		if e.Kind != folder.Unread || e.Err == nil {
			t.Errorf("%+v", e)
		}
	}
	for range folder.Each(root) {
		break // and nothing is yielded after it, which would panic
	}
}

// A link may lead to a blob of the hub's cache, and to no folder there: nothing would list its files.
func TestALinkToAFolderOfBlobsIsNotFollowed(t *testing.T) {
	model := filepath.Join(t.TempDir(), "models--me--model")
	root, blob := filepath.Join(model, "snapshots", "1"), filepath.Join(model, "blobs", "abc")
	for _, dir := range []string{root, blob} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(blob, filepath.Join(root, "x")); err != nil {
		t.Skip("no links here: ", err)
	}
	for e := range folder.Each(root) {
		if e.Kind != folder.Astray || !e.Mode.IsDir() || e.Refusal() == nil {
			t.Errorf("%+v", e)
		}
	}
}

func TestNamesAreFoundHoweverTheyAreWritten(t *testing.T) {
	s := folder.Search{Names: []string{".git", ".gitignore", "model.sig"}, Inside: map[string][]string{".git": {"config", "HEAD"}}}
	for text, want := range map[string]string{
		"a .git/config":                ".git",
		"'.git'":                       ".git",
		`"..\/.git\/x"`:                ".git",
		`"\u002eGIT/x"`:                ".git",
		`"\x2egit/x"`:                  ".git",
		`"\056git/x"`:                  ".git",
		`"\U0000002egit/x"`:            ".git",
		"<a b='&#46;git/x'/>":          ".git",
		"<a b='&#x2E;git/x'/>":         ".git",
		"file:///%2egit/x":             ".git",
		"file:///%252egit/x":           ".git",
		`C:\x\.git\y`:                  ".git",
		`"line\n.git/x"`:               ".git",
		".g\u200bit/x":                 ".git",
		"\xff\xfe.\x00g\x00i\x00t\x00": ".git",
		"./.gitignore":                 ".gitignore",
		"MODEL.SIG":                    "model.sig",
		"x/model.sig":                  "model.sig",
		"https://example.com/a.git":    "",
		"git+https://a/b.git@main":     "",
		".github/x":                    "",
		"x.git/y":                      "",
		"a.gitignore":                  "",
		"my-model.sig":                 "",
		"model.sig.bak":                "",
		"é.git/x":                      "",
		"git":                          "",
		"\x08\xff\xfe.git/config\x12":  ".git",
		"\x08\xff\xfe.git\x12":         "",
		"\x08\xff\xfemodel.sig\x12":    "model.sig",
		"\x08\xff\xfeamodel.sigj":      "model.sig", // a length, and the next field
	} {
		got, err := s.In("config.json", strings.NewReader(text))
		if err != nil || got != want {
			t.Errorf("%q: %q, not %q (%v)", text, got, want, err)
		}
	}
	long := strings.Repeat("x ", 300<<10)
	for at := 255 << 10; at < 257<<10; at += 97 { // over the border of two pieces
		if got, _ := s.In("a.yaml", strings.NewReader(long[:at]+` "\u002egit/x" `+long[at:])); got != ".git" {
			t.Errorf("not found at %d", at)
		}
	}
	for name, text := range map[string]string{
		"tokenizer.json": `{".git":1}`, "sub/merges.txt": ".git x", "README.md": "see .git/config", "x.safetensors": "\x40\x00\x00\x00\x00\x00\x00\x00{\"model.sig\":1}", "x.gguf": "GGUF.git/config",
	} {
		if got, _ := s.In(name, strings.NewReader(text)); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got, _ := s.In("README.md", strings.NewReader("---\nfile: .git/x\n---\n")); got != ".git" {
		t.Errorf("the YAML of a README: %q", got)
	}
}
