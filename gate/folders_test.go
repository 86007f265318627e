package gate_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/limits"
)

// folders, each with a pickle that runs code: packed, linked, or under a name that a scan could
// skip.
func liveFolders(t *testing.T) map[string]map[string]string {
	one := member{"model.bin", evil}
	hard := func() string {
		var out bytes.Buffer
		z := tar.NewWriter(&out)
		z.WriteHeader(&tar.Header{Name: "a", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"})
		z.Close()
		return out.String()
	}
	return map[string]map[string]string{
		"in a ZIP archive":                {"weights.zip": zipped(t, one)},
		"in a packed tar archive":         {"weights.tar.gz": gzipped(t, tarred(t, one))},
		"in gzip":                         {"model.pkl.gz": gzipped(t, evil)},
		"in zlib, by joblib":              {"model.joblib": deflated(t, evil)},
		"in zstd":                         {"model.pkl.zst": zstded(evil)},
		"in a .nemo":                      {"m.nemo": tarred(t, member{"./model_config.yaml", "a: 1\n"}, member{"./model_weights.ckpt", evil})},
		"in a .mar":                       {"m.mar": zipped(t, member{"MAR-INF/MANIFEST.json", "{}"}, member{"model.pt", evil})},
		"in a .keras":                     {"m.keras": zipped(t, member{"config.json", "{}"}, member{"assets/x.pkl", evil})},
		"among arrays":                    {"m.npz": zipped(t, member{"a.npy", npy(t)}, member{"b.pkl", evil})},
		"among arrays, by another name":   {"m.npz": zipped(t, member{"a.npy", npy(t)}, member{"b", evil})},
		"in skops":                        {"m.skops": zipped(t, member{"a.npy", npy(t)}, member{"schema.json", `{"__class__":"system","__module__":"os","__loader__":"FunctionNode"}`})},
		"in an archive in an archive":     {"a.zip": zipped(t, member{"b.tar", tarred(t, member{"c.gz", gzipped(t, evil)})})},
		"in a layer of an OCI layout":     {"oci-layout": `{"imageLayoutVersion": "1.0.0"}`, "blobs/sha256/" + sum(gzipped(t, tarred(t, one))): gzipped(t, tarred(t, one))},
		"behind a link out of it":         {"model.bin": "-> /etc/hostname"},
		"behind a link to another folder": {"sub": "-> /etc"},
		"behind a link in an archive":     {"a.tar": hard()},
		"under a name of a text":          {"README.md": evil},
		"under a name of an image":        {"cover.png": evil},
		"under a hidden name":             {".cache/x": evil},
		"under the name of a blob":        {"blobs/sha256-" + sum(evil): evil},
		"behind an image":                 {"cover.png": "\x89PNG\r\n\x1a\n" + zipped(t, member{"archive/data.pkl", evil})},
		"in xz":                           {"model.pkl.xz": based(t, evilXZ)},
		"in what is not known":            {"model.h5": "\x89HDF\r\n\x1a\n\x00"},
		"in a pointer to it":              {"weights.dat": "version https://git-lfs.github.com/spec/v1\noid sha256:" + sum(evil) + "\nsize 21\n"},
	}
}

// based decodes base64.
func based(t *testing.T, text string) string {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// npy is an array of one byte.
func npy(t *testing.T) string {
	t.Helper()
	head := "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }"
	head += strings.Repeat(" ", 118-len(head)-1) + "\n"
	return "\x93NUMPY\x01\x00" + string([]byte{byte(len(head)), 0}) + head + "\x07"
}

func sum(data string) string {
	s := sha256.Sum256([]byte(data))
	return hex.EncodeToString(s[:])
}

func TestFoldersWithALivePickleFail(t *testing.T) {
	for what, files := range liveFolders(t) {
		t.Run(what, func(t *testing.T) {
			files["model.safetensors"] = empty
			root := lay(t, files)
			b := limits.Policy{}.Budget(t.Context())
			defer b.Close()
			var list []string
			refused := 0
			for v, err := range gate.New(gate.Policy{}).CheckPath(b, root) {
				if err != nil {
					t.Fatal(err)
				}
				if !v.Accepted() {
					refused++
					for _, r := range v.Refusals() {
						if !gate.IsRule(r.Rule) {
							t.Errorf("no rule %s is listed", r.Rule)
						}
					}
				}
				list = append(list, fmt.Sprintf("%s: %v %s", v.Name, v.Class(), v.Harmless))
			}
			if refused != 1 {
				t.Errorf("%d files are refused, want 1: %q", refused, list)
			}
		})
	}
}

// A name that is a digest is compared with the content, in every folder.
func TestNamesThatAreDigestsAreComparedWithTheContent(t *testing.T) {
	git := func(data string) string {
		s := sha1.Sum([]byte(fmt.Sprintf("blob %d\x00%s", len(data), data)))
		return hex.EncodeToString(s[:])
	}
	right, other := empty, "a note\n"
	for name, data := range map[string]string{
		"blobs/sha256-%s":                   "",
		"blobs/sha256/%s":                   "",
		"models--a--b/blobs/%s":             "",
		"models--a--b/blobs/%s (git)":       "git",
		"models--a--b/snapshots/1/m (link)": "link",
		"sha256-%s":                         "",
	} {
		for _, content := range []string{right, other} {
			digest := sum(right)
			if data == "git" {
				digest = git(right)
			}
			files := map[string]string{}
			stored, _, _ := strings.Cut(name, " ")
			file := strings.Replace(stored, "%s", digest, 1)
			root := "."
			if data == "link" {
				files["models--a--b/blobs/"+digest] = content
				files[stored] = "-> ../../blobs/" + digest
				root = "models--a--b/snapshots/1"
			} else {
				files[file] = content
			}
			got := walked(t, gate.New(gate.Policy{}), filepath.Join(lay(t, files), root))
			bad := strings.Contains(strings.Join(got, " "), "gate.digest-name")
			if bad != (content == other) || bad && strings.Contains(got[0], "text") {
				t.Errorf("%s: %q", name, got)
			}
		}
	}
	v, _ := check(t, gate.Gate{}, tarred(t, member{"blobs/sha256/" + sum(right), other}), gate.Hint{Name: "layout.tar"})
	if list := v.Refusals(); len(list) != 1 || list[0].Rule != "gate.digest-name" {
		t.Errorf("in an archive: %v", list)
	}
}

// Files beside a model that ask for code.
func TestTextsBesideAModelAreJudged(t *testing.T) {
	root := lay(t, map[string]string{
		"chat_template.jinja": "{{ ''.__class__ }}", "config.json": `{"auto_map": {"AutoModel": "modeling_x.M"}}`, "modeling_x.py": "import os\n",
		"tokenizer.json": `{"model": {"vocab": {"chat_template": 1}}}`, "m.safetensors": empty,
	})
	want := map[string]string{"chat_template.jinja": "forbidden template.dunder", "config.json": "forbidden sidecar.auto-map", "modeling_x.py": "ok", "tokenizer.json": "ok a JSON text", "m.safetensors": "ok"}
	for _, line := range walked(t, gate.New(gate.Policy{}), root) {
		name, text, _ := strings.Cut(line, ": ")
		if text != want[name] {
			t.Errorf("%s: %q, want %q", name, text, want[name])
		}
	}
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	for v, err := range gate.New(gate.Policy{}).CheckPath(b, filepath.Join(root)) {
		if err != nil {
			t.Fatal(err)
		}
		if v.Name == "config.json" && (len(v.Findings) != 1 || !strings.Contains(v.Findings[0].Text, "which lies beside it")) {
			t.Errorf("%v", v.Findings)
		}
	}
	os.Remove(filepath.Join(root, "modeling_x.py"))
	strict, _ := gate.Profile("strict")
	if got := strings.Join(walked(t, gate.New(strict), root), "\n"); !strings.Contains(got, "config.json: forbidden sidecar.auto-map") {
		t.Error(got)
	}
}
