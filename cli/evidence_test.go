package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// attested is a folder whose files a scan has signed.
func attested(t *testing.T) (dir, statement, public string) {
	t.Helper()
	dir, keys := t.TempDir(), t.TempDir()
	copyFile(t, filepath.Join(dir, "model.safetensors"), filepath.Join(demo, "model.safetensors"))
	copyFile(t, filepath.Join(dir, "sub", "tiny.gguf"), filepath.Join(demo, "tiny.gguf"))
	write(t, filepath.Join(dir, "README.md"), "# A model\n")
	write(t, filepath.Join(dir, ".git", "config"), "[core]\n")
	write(t, filepath.Join(keys, "key.pem"), testKey)
	public = filepath.Join(keys, "key.pub")
	write(t, public, testPublicKey)
	statement = filepath.Join(keys, "model.att")
	if r := amn(t, nil, "scan", "-q", "--attest", statement, "--key", filepath.Join(keys, "key.pem"), dir); r.code != 0 {
		t.Fatalf("exit %d: %s", r.code, r.err)
	}
	return dir, statement, public
}

// A statement holds for the same files in any folder.
func TestAStatementIsAboutAllFiles(t *testing.T) {
	dir, statement, public := attested(t)
	ask := func() result { return amn(t, nil, "verify", "--attestation", statement, "--key", public, dir) }
	for _, c := range []struct {
		what string
		do   func(path func(string) string) error
		code int
		says string
	}{
		{"as they were", func(func(string) string) error { return nil }, 0, "AMN_ACCEPTED, AMN_BODIES_READ, AMN_ALL_LOOKED_AT, AMN_NO_EXCEPTIONS"},
		{"what belongs to git", func(p func(string) string) error { return os.WriteFile(p(".git/HEAD"), []byte("x"), 0o666) }, 8, `".git/HEAD" was added`},
		{"a copy without git", func(p func(string) string) error { return os.RemoveAll(p(".git")) }, 0, ""},
		{"a signature beside", func(p func(string) string) error {
			return os.WriteFile(p("model.sig"), []byte(load(t, statement)), 0o666)
		}, 0, ""},
		{"what is no signature", func(p func(string) string) error { return os.WriteFile(p("model.sig"), []byte("{}"), 0o666) }, 8, "its content is not one"},
		{"without it", func(p func(string) string) error { return os.Remove(p("model.sig")) }, 0, ""},
		{"one more file", func(p func(string) string) error { return os.WriteFile(p("more.py"), []byte("x"), 0o666) }, 8, ""},
		{"without it", func(p func(string) string) error { return os.Remove(p("more.py")) }, 0, ""},
		{"a link to nowhere", func(p func(string) string) error { return os.Symlink("/nowhere", p("link")) }, 8, "leads nowhere"},
		{"without it again", func(p func(string) string) error { return os.Remove(p("link")) }, 0, ""},
		{"one less", func(p func(string) string) error { return os.Remove(p("README.md")) }, 8, ""},
	} {
		if err := c.do(func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }); err != nil {
			t.Fatal(err)
		}
		if r := ask(); r.code != c.code || !strings.Contains(strings.Join(strings.Fields(r.out+r.err), " "), c.says) {
			t.Errorf("%s: exit %d\n%s%s", c.what, r.code, r.out, r.err)
		}
	}
	r := amn(t, nil, "verify", "--json", "--attestation", statement, "--key", public, dir)
	valid(t, "attestation", r.out)
	if r.code != 8 {
		t.Errorf("exit %d", r.code)
	}
}

// A file beside a refused one is not attested, and neither is what is only a part.
func TestRefusedFilesAreNotAttested(t *testing.T) {
	dir, keys := t.TempDir(), t.TempDir()
	write(t, filepath.Join(keys, "key.pem"), testKey)
	write(t, filepath.Join(dir, "a.pkl"), runsCode)
	write(t, filepath.Join(dir, "m.safetensors"), emptyTensor)
	statement := filepath.Join(keys, "model.att")
	for what, c := range map[string]struct {
		args []string
		code int
	}{
		"a refused file":  {[]string{dir}, 7},
		"a part":          {[]string{"--exclude", "*.pkl", dir}, 2},
		"two models":      {[]string{filepath.Join(dir, "m.safetensors"), dir}, 2},
		"standard input":  {[]string{"-"}, 2},
		"a list":          {[]string{"--files-from", "-"}, 2},
		"no file at all":  {[]string{t.TempDir()}, 5},
		"a folder absent": {[]string{filepath.Join(dir, "absent")}, 2},
	} {
		r := amn(t, nil, append([]string{"scan", "-q", "--attest", statement, "--key", filepath.Join(keys, "key.pem")}, c.args...)...)
		if _, err := os.Stat(statement); err == nil || r.code != c.code {
			t.Errorf("%s: exit %d, %v: %s", what, r.code, err, r.err)
		}
	}
	if r := amn(t, nil, "scan", "-q", "--attest", statement, "--key", filepath.Join(dir, "a.pkl"), dir); r.code != 2 {
		t.Errorf("a key that is none: exit %d", r.code)
	}
}

// An exception that a policy makes is said.
func TestAnExceptionIsAttested(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "a.pkl"), runsCode)
	write(t, filepath.Join(out, "key.pem"), testKey)
	write(t, filepath.Join(out, "key.pub"), testPublicKey)
	known, statement := filepath.Join(out, "known.json"), filepath.Join(out, "model.att")
	amn(t, nil, "scan", "-q", "--output", "baseline="+known, dir)
	if r := amn(t, nil, "scan", "-q", "--baseline", known, "--attest", statement, "--key", filepath.Join(out, "key.pem"), dir); r.code != 0 {
		t.Fatalf("exit %d: %s", r.code, r.err)
	}
	r := amn(t, nil, "verify", "--attestation", statement, "--key", filepath.Join(out, "key.pub"), dir)
	if r.code != 0 || !strings.Contains(r.out, "AMN_ACCEPTED") || strings.Contains(r.out, "AMN_NO_EXCEPTIONS") {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
}

// A statement about a file holds only for that file, under any name.
func TestAStatementOfOneFile(t *testing.T) {
	dir := workplace(t)
	t.Chdir(dir)
	if r := amn(t, nil, "scan", "-q", "--attest", "model.att", "--key", "key.pem", "model.safetensors"); r.code != 0 {
		t.Fatalf("exit %d: %s", r.code, r.err)
	}
	copyFile(t, "other.safetensors", "model.safetensors")
	for path, code := range map[string]int{"model.safetensors": 0, "other.safetensors": 0, "cut.safetensors": 8, "models": 8, "absent": 2} {
		if r := amn(t, nil, "verify", "--attestation", "model.att", "--key", "key.pub", path); r.code != code {
			t.Errorf("%s: exit %d: %s", path, r.code, r.err)
		}
	}
	write(t, "broken.att", strings.Replace(load(t, "model.att"), `"payload":"e`, `"payload":"f`, 1))
	if r := amn(t, nil, "verify", "--attestation", "broken.att", "--key", "key.pub", "model.safetensors"); r.code != 7 {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}

// A bill of materials lists what was judged, and is there whole or not at all.
func TestABillOfMaterials(t *testing.T) {
	dir := workplace(t)
	t.Chdir(dir)
	write(t, "models/evil.pkl", runsCode)
	if r := amn(t, nil, "scan", "-q", "--bom", "bom.json", "models"); r.code != 7 {
		t.Fatalf("exit %d: %s", r.code, r.err)
	}
	var doc struct {
		Components []struct {
			Type, Name string
			Hashes     []struct{ Content string }
			Components []struct{ Name string }
		}
	}
	if err := json.Unmarshal([]byte(load(t, "bom.json")), &doc); err != nil {
		t.Fatal(err)
	}
	tensors, models := 0, 0
	for _, c := range doc.Components {
		if len(c.Hashes) != 1 {
			t.Errorf("%s has no digest", c.Name)
		}
		if tensors += len(c.Components); c.Type == "machine-learning-model" {
			models++
		}
	}
	if models < 3 || tensors < 20 {
		t.Errorf("%d models, %d tensors", models, tensors)
	}
	if r := amn(t, nil, "scan", "--bom", "model.safetensors", "model.safetensors"); r.code != 2 || load(t, "model.safetensors") != load(t, "renamed.npz") {
		t.Errorf("the model is overwritten: exit %d", r.code)
	}
}
