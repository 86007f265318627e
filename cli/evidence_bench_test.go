//go:build unix

package cli_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/digest"
	"github.com/anamnesis-go/anamnesis/gate/attest"
)

// tensorOf is a safetensors file with a tensor of one byte.
func tensorOf(name string, value byte) string {
	head := fmt.Sprintf(`{%q:{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, name)
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(head)))) + head + string(value)
}

// aModel is a folder with a file of each kind.
func aModel(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{
		"model.safetensors":               tensorOf("w", 1),
		"part-00001-of-00001.safetensors": tensorOf("s", 2),
		"part.safetensors.index.json":     `{"weight_map":{"s":"part-00001-of-00001.safetensors"}}`,
		"config.json":                     `{"hidden_size":8}`,
		"tokenizer.json":                  `{"model":{"vocab":{".git":1,".git/x":2,"model.sig":3}}}`,
		"modeling_x.py":                   "import torch\n",
		"README.md":                       "See .git/config and model.sig.\n",
		".hidden.json":                    `{"a":1}`,
		"unet/config.json":                `{"sample_size":8}`,
		"unet/model.safetensors":          tensorOf("u", 3),
		"model_index.json":                `{"_class_name":"P","unet":["diffusers","UNet2DModel"]}`,
		"same.json":                       "-> config.json",
		"alias":                           "-> unet",
		".git/config":                     "[core]\n",
		".gitattributes":                  "*.bin filter=lfs\n",
		"empty/":                          "",
	}
}

// layFiles writes files; a content "-> x" is a link to x, and a name with a slash at its end an
// empty folder.
func layFiles(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(root, filepath.FromSlash(name))
		to, link := strings.CutPrefix(files[name], "-> ")
		var err error
		switch {
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o777)
		case link:
			if err = os.MkdirAll(filepath.Dir(path), 0o777); err == nil {
				err = os.Symlink(to, path)
			}
		default:
			write(t, path, files[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// modelSigning signs a folder as model_signing 1.1.1 does with allow_symlinks and its own list of
// ignored files, and with more ignored files.
func modelSigning(t *testing.T, root string, more ...string) string {
	t.Helper()
	var list []attest.File
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		name := filepath.ToSlash(rel)
		for _, ignored := range append([]string{".git", ".gitattributes", ".github", ".gitignore", "model.sig"}, more...) {
			if name == ignored || strings.HasPrefix(name, ignored+"/") {
				return nil
			}
		}
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			return err
		}
		list = append(list, attest.File{Name: name, Sum: sha256.Sum256([]byte(load(t, path)))})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return signedBy(t, list, more...)
}

func signedBy(t *testing.T, list []attest.File, more ...string) string {
	t.Helper()
	var resources, ignored []string
	for _, f := range list {
		resources = append(resources, fmt.Sprintf(`{"name":%q,"algorithm":"sha256","digest":%q}`, f.Name, f.Sum))
	}
	for _, name := range append([]string{".git", ".gitattributes", ".github", ".gitignore", "model.sig"}, more...) {
		ignored = append(ignored, fmt.Sprintf("%q", name))
	}
	h := sha256.New()
	for _, f := range list {
		h.Write(f.Sum[:])
	}
	key, err := attest.PrivateKey([]byte(testKey))
	if err != nil {
		t.Fatal(err)
	}
	text, err := attest.Sign([]byte(`{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"m","digest":{"sha256":"`+digest.Sum(h.Sum(nil)).String()+
		`"}}],"predicateType":"https://model_signing/signature/v1.0","predicate":{"serialization":{"method":"files","hash_type":"sha256","allow_symlinks":true,"ignore_paths":[`+
		strings.Join(ignored, ",")+`]},"resources":[`+strings.Join(resources, ",")+`]}}`), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// An evidence bench holds keys and says what amn says.
type evidenceBench struct{ key, public, statement string }

func newBench(t *testing.T) *evidenceBench {
	dir := t.TempDir()
	b := &evidenceBench{filepath.Join(dir, "key.pem"), filepath.Join(dir, "key.pub"), filepath.Join(dir, "statement")}
	write(t, b.key, testKey)
	write(t, b.public, testPublicKey)
	return b
}

// attest returns whether a scan of the folder wrote a statement.
func (b *evidenceBench) attest(t *testing.T, root string) (bool, result) {
	os.Remove(b.statement)
	r := amn(t, nil, "scan", "-q", "--attest", b.statement, "--key", b.key, root)
	_, err := os.Stat(b.statement)
	if (err == nil) != (r.code == 0) {
		t.Errorf("exit %d, and a statement is there: %v", r.code, err == nil)
	}
	return err == nil, r
}

func (b *evidenceBench) verify(t *testing.T, root string, more ...string) result {
	return amn(t, nil, append([]string{"verify", "--attestation", b.statement, "--key", b.public, root}, more...)...)
}

// coversGit checks that a statement about a folder whose loader reaches a file of git holds, and no
// longer holds once such a file is changed or removed.
func (b *evidenceBench) coversGit(t *testing.T, what, root string, files map[string]string) {
	t.Helper()
	if r := b.verify(t, root); r.code != 0 {
		t.Errorf("%s: the statement does not hold: exit %d: %s%s", what, r.code, r.out, r.err)
	}
	if r := b.verify(t, root, "--except-git"); r.code != 8 {
		t.Errorf("%s: git is excepted: exit %d: %s%s", what, r.code, r.out, r.err)
	}
	found := false
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if attest.Beside(name) == "" || strings.HasPrefix(text, "-> ") {
			continue
		}
		found = true
		write(t, path, text+"x")
		if r := b.verify(t, root); r.code != 8 || !strings.Contains(r.out+r.err, fmt.Sprintf("%q has another content", name)) {
			t.Errorf("%s: %s was changed: exit %d: %s%s", what, name, r.code, r.out, r.err)
		}
		write(t, path, text)
		away := filepath.Join(t.TempDir(), "away")
		if err := os.Rename(filepath.Join(root, attest.Beside(name)), away); err != nil {
			t.Fatal(err)
		}
		// Where nothing names them, a copy without git's files is the same model.
		if r := b.verify(t, root); r.code != 8 && !strings.HasPrefix(what, "a folder by") && !strings.HasPrefix(what, "a link by") {
			t.Errorf("%s: %s was removed: exit %d: %s%s", what, name, r.code, r.out, r.err)
		}
		if err := os.Rename(away, filepath.Join(root, attest.Beside(name))); err != nil {
			t.Fatal(err)
		}
	}
	if !found && !strings.HasPrefix(what, "a link by") {
		t.Errorf("%s: attested", what)
	}
}
