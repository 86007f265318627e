package parser_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/google/go-cmp/cmp"
)

// shard is a file of one tensor of four bytes.
func shard(name string) []byte {
	header := `{"` + name + `":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}`
	return append([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}, header+"abcd"...)
}

const index = `{"metadata":{"total_size":8},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}`

// put writes files below dir, "->" for a link.
func put(t testing.TB, dir string, files map[string]string) string {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(content, "->"); ok {
			err = os.Symlink(filepath.FromSlash(target), path)
		} else {
			err = os.WriteFile(path, []byte(content), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func names(m tensor.Model) []string {
	var list []string
	for i := range m.Tensors() {
		list = append(list, i.Name)
	}
	return list
}

// mustOpen opens a model, checks the names of its tensors and reads the first.
func mustOpen(t *testing.T, path string, want ...string) {
	t.Helper()
	b := account(t, limits.Policy{})
	m, err := parser.Open(b, path)
	if err != nil {
		t.Fatalf("%s: %v", filepath.Base(path), err)
	}
	if diff := cmp.Diff(want, names(m)); diff != "" {
		t.Errorf("%s: %s", filepath.Base(path), diff)
	}
	for i := range m.Tensors() {
		r, err := m.Body(b, i)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(r); err != nil || string(body) != "abcd" {
			t.Errorf("%s: %q, %v", i.Name, body, err)
		}
		r.Close()
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

func refuses(t *testing.T, path string, class parser.Class, says string) {
	t.Helper()
	_, err := parser.Open(account(t, limits.Policy{}), path)
	if parser.ClassOf(err) != class || !strings.Contains(err.Error(), says) {
		t.Errorf("%s: %v: %v", filepath.Base(path), parser.ClassOf(err), err)
	}
}

func TestOpenReadsFilesAndFolders(t *testing.T) {
	dir := put(t, t.TempDir(), map[string]string{
		"one/config.json":                          `{"a":1}`,
		"one/weights.safetensors":                  string(shard("a")),
		"indexed/model.safetensors.index.json":     index,
		"indexed/model-00001-of-00002.safetensors": string(shard("a")),
		"indexed/model-00002-of-00002.safetensors": string(shard("b")),
		"indexed/consolidated.safetensors":         string(shard("c")),
		"pattern/model-00001-of-00002.safetensors": string(shard("a")),
		"pattern/model-00002-of-00002.safetensors": string(shard("b")),
		"many/x.safetensors":                       string(shard("x")),
		"many/y.safetensors":                       string(shard("y")),
		"none/readme.md":                           "# nothing",
		"missing/model-00001-of-00003.safetensors": string(shard("a")),
		"missing/model-00003-of-00003.safetensors": string(shard("b")),
		"lfs/model.safetensors.index.json":         index,
		"lfs/model-00001-of-00002.safetensors":     string(shard("a")),
		"lfs/model-00002-of-00002.safetensors":     "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n",
		"pointer/model.safetensors.index.json":     "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n",
		"cut/model.safetensors.index.json":         index[:len(index)-3],
		"partial/model.safetensors.part":           string(shard("a")[:40]),
		"renamed.gguf":                             string(shard("a")),
		"outside.safetensors":                      string(shard("o")),
		"linked/in.safetensors":                    "->weights/real.bin",
		"linked/weights/real.bin":                  string(shard("in")),
		"linked2/model.safetensors.index.json":     index,
		"linked2/model-00001-of-00002.safetensors": "->../outside.safetensors",
		"linked2/model-00002-of-00002.safetensors": string(shard("b")),
		"linked3/out.safetensors":                  "->../outside.safetensors",
		"both/model.safetensors.index.json":        index,
		"both/model-00001-of-00002.safetensors":    string(shard("a")),
		"both/model-00002-of-00002.safetensors":    string(shard("b")),
		"both/model.safetensors":                   string(shard("whole")),
	})
	at := func(name string) string { return filepath.Join(dir, name) }
	mustOpen(t, at("one"), "a")
	mustOpen(t, at("one/weights.safetensors"), "a")
	mustOpen(t, at("indexed"), "a", "b")
	mustOpen(t, at("indexed/model.safetensors.index.json"), "a", "b")
	mustOpen(t, at("indexed/model-00002-of-00002.safetensors"), "b")
	mustOpen(t, at("pattern"), "a", "b")
	mustOpen(t, at("renamed.gguf"), "a")
	mustOpen(t, at("linked"), "in")
	mustOpen(t, at("linked3/out.safetensors"), "o") // the caller named it

	refuses(t, at("many"), parser.Unsupported, "the folder holds 2 models")
	refuses(t, at("both"), parser.Unsupported, "the folder holds 2 models")
	refuses(t, at("none"), parser.Unsupported, "no weight files")
	refuses(t, at("missing"), parser.Malformed, "shard 2 of 3")
	refuses(t, at("lfs"), parser.Unsupported, `file "model-00002-of-00002.safetensors" at 0x0: not supported: this is a Git LFS pointer`)
	refuses(t, at("pointer"), parser.Unsupported, "Git LFS pointer")
	refuses(t, at("cut"), parser.Truncated, "the JSON text ends")
	refuses(t, at("partial/model.safetensors.part"), parser.Truncated, "the download is unfinished")
	refuses(t, at("linked2"), parser.Forbidden, "leads out of the model's folder")
	refuses(t, at("linked3"), parser.Forbidden, "leads out of the model's folder")
	refuses(t, "https://example.org/model.gguf", parser.Unsupported, "this is a URL")
	if _, err := parser.Open(account(t, limits.Policy{}), at("no such file")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A name may be any bytes, where the file system takes them. Names that leave the folder are
// refused.
func TestNamesThatAreNotUTF8(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a\xff.safetensors")
	if os.WriteFile(path, shard("a"), 0o666) != nil {
		t.Skip("this file system wants UTF-8")
	}
	mustOpen(t, path, "a")
	mustOpen(t, dir, "a")
	for _, name := range []string{"../a", "/a", "..", "a/../\xff", "\xff/..", ""} {
		if _, err := tensor.OpenFile(os.DirFS(dir), name); parser.ClassOf(err) != parser.Forbidden {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// The same folder, read from any file system.
func TestOpenFSReadsFromAnyFileSystem(t *testing.T) {
	fsys := fstest.MapFS{
		"m/model.safetensors.index.json":     {Data: []byte(index)},
		"m/model-00001-of-00002.safetensors": {Data: shard("a")},
		"m/model-00002-of-00002.safetensors": {Data: shard("b")},
		"m/config.json":                      {Data: []byte("{}")},
		"loose/x.safetensors":                {Data: shard("x")},
		"loose/y.safetensors":                {Data: shard("y")},
	}
	for _, c := range []struct {
		name string
		want []string
	}{
		{"m", []string{"a", "b"}},
		{"m/model.safetensors.index.json", []string{"a", "b"}},
		{"loose/x.safetensors", []string{"x"}},
	} {
		m, err := parser.OpenFS(account(t, limits.Policy{}), fsys, c.name)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, names(m)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		m.Close()
	}
	if _, err := parser.OpenFS(account(t, limits.Policy{}), fsys, "loose"); parser.ClassOf(err) != parser.Unsupported {
		t.Error(err)
	}
	if _, err := parser.OpenFS(account(t, limits.Policy{}), fsys, "nowhere"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestANameThatDisagreesIsAFinding(t *testing.T) {
	dir := put(t, t.TempDir(), map[string]string{"m.npz": string(shard("a")), "m.dat": string(shard("a")), "M.SAFETENSORS": string(shard("a"))})
	open := func(name string, p limits.Policy) (tensor.Model, error) {
		m, err := parser.Open(account(t, p), filepath.Join(dir, name))
		if err == nil {
			t.Cleanup(func() { m.Close() })
		}
		return m, err
	}
	m, err := open("m.npz", limits.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"detect.name"}, codes(m)); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"m.dat", "M.SAFETENSORS"} {
		if m, err := open(name, limits.Policy{}); err != nil || len(m.Findings()) > 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := open("m.npz", limits.Policy{RefuseFindings: []string{"detect.name"}}); parser.ClassOf(err) != parser.Forbidden {
		t.Error(err)
	}
}

func TestAPolicyRefusesFormats(t *testing.T) {
	p := limits.Policy{RefuseFormats: []string{"safetensors"}}
	if _, err := parser.Decode(account(t, p), bytes.NewReader(shard("a")), int64(len(shard("a")))); parser.ClassOf(err) != parser.Forbidden {
		t.Error(err)
	}
	dir := put(t, t.TempDir(), map[string]string{"model.safetensors.index.json": index})
	if _, err := parser.Open(account(t, p), dir); parser.ClassOf(err) != parser.Forbidden {
		t.Error(err)
	}
}

// A model's progress counts what is read of its files, wherever from.
func TestProgressCountsWhatIsRead(t *testing.T) {
	dir := put(t, t.TempDir(), map[string]string{"m.safetensors": string(shard("a"))})
	b := account(t, limits.Policy{})
	m, err := parser.Open(b, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	before, size := parser.Progress(m)
	if size != int64(len(shard("a"))) {
		t.Errorf("size %d", size)
	}
	for i := range m.Tensors() {
		r, err := m.Body(b, i)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, r); err != nil {
			t.Fatal(err)
		}
	}
	if after, _ := parser.Progress(m); after-before != 4 {
		t.Errorf("%d bytes", after-before)
	}
}

// For each file of the corpus the facade agrees with the parser, or says that the content is not a
// model. It never accepts what the parser refuses.
func TestOpenAgreesWithTheCorpus(t *testing.T) {
	seen := 0
	for _, f := range parser.Formats() {
		for _, r := range corpus.Hostile(f.Name) {
			data := r.Bytes()
			b := policyOf(t, &r).Budget(t.Context())
			m, err := parser.Decode(b, bytes.NewReader(data), int64(len(data)))
			if err == nil {
				err = parser.Verify(b, m)
				m.Close()
			}
			b.Close()
			e, _ := errors.AsType[*parser.Error](err)
			class := parser.ClassOf(err)
			switch {
			case e != nil && (e.Format == "detect" || e.Format == "zip") && (class == parser.Unsupported || class == parser.Truncated):
			case class.String() != r.Expect:
				t.Errorf("%s: %v, %v", r.Path(), class, err)
			case e == nil || e.Off != r.Offset:
				t.Errorf("%s: offset of %v", r.Path(), err)
			}
			seen++
		}
	}
	if seen < 90 {
		t.Errorf("only %d hostile files", seen)
	}
}

// Every prefix of a valid file is truncated or malformed. The padding at the
// end of a GGUF file may be missing.
func TestNoBeginningOfAFileIsAccepted(t *testing.T) {
	for _, f := range parser.Formats() {
		for _, seed := range corpus.Valid(f.Name) {
			p := policyOf(t, seed.Recipe)
			step := max(1, len(seed.Data)/100)
			for n := 0; n < len(seed.Data); n += step {
				m, err := parser.Decode(account(t, p), bytes.NewReader(seed.Data[:n]), int64(n))
				if err == nil {
					err = parser.Verify(account(t, p), m)
				}
				if err == nil && f.Name == "gguf" && len(bytes.Trim(seed.Data[n:], "\x00")) == 0 {
					continue
				}
				if c := parser.ClassOf(err); c != parser.Truncated && c != parser.Malformed {
					t.Fatalf("%s/%s: first %d of %d bytes: %v: %v", f.Name, seed.Name, n, len(seed.Data), c, err)
				}
			}
		}
	}
}

func TestFormatsAreInOrder(t *testing.T) {
	list := parser.Formats()
	if !slices.IsSortedFunc(list, func(a, b parser.Format) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error(list)
	}
	seen := map[string]string{}
	for _, f := range list {
		for _, ext := range f.Extensions {
			if seen[ext] != "" {
				t.Errorf("%s promises %s and %s", ext, seen[ext], f.Name)
			}
			seen[ext] = f.Name
		}
	}
}
