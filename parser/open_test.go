package parser_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
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
	refuses(t, at("partial/model.safetensors.part"), parser.Truncated, "the download is not finished")
	refuses(t, at("linked2"), parser.Forbidden, "leads out of the model's folder")
	refuses(t, at("linked3"), parser.Forbidden, "leads out of the model's folder")
	refuses(t, "https://example.org/model.gguf", parser.Unsupported, "this is a URL")
	if _, err := parser.Open(account(t, limits.Policy{}), at("no such file")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A name may be any bytes, where the file system takes them. What leaves the
// folder is another thing.
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

// Checkpoints of PyTorch in several files, by their index and without one.
func TestCheckpointsInSeveralFiles(t *testing.T) {
	seeds := map[string][]byte{}
	for _, s := range corpus.Valid("pth") {
		seeds[s.Name] = s.Data
	}
	first, second := seeds["adamw.pt"], seeds["checkpoint.pt"]
	var want []string
	weights := ""
	for i, data := range [][]byte{first, second} {
		m, err := parser.Decode(account(t, limits.Policy{}), bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names(m) {
			want = append(want, name)
			weights += `,"` + name + `":"m-0000` + decimal(i+1) + `-of-00002.bin"`
		}
	}
	dir := put(t, t.TempDir(), map[string]string{
		"set/m-00001-of-00002.bin":           string(first),
		"set/m-00002-of-00002.bin":           string(second),
		"index/m-00001-of-00002.bin":         string(first),
		"index/m-00002-of-00002.bin":         string(second),
		"index/pytorch_model.bin.index.json": `{"weight_map":{` + weights[1:] + `}}`,
		"lying/m-00001-of-00002.bin":         string(second),
		"lying/m-00002-of-00002.bin":         string(first),
		"lying/pytorch_model.bin.index.json": `{"weight_map":{` + weights[1:] + `}}`,
		"short/m-00001-of-00002.bin":         string(first),
		"short/pytorch_model.bin.index.json": `{"weight_map":{` + weights[1:] + `}}`,
	})
	for _, name := range []string{"set", "index", "index/pytorch_model.bin.index.json"} {
		b := account(t, limits.Policy{})
		m, err := parser.Open(b, filepath.Join(dir, name))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, names(m)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if err := parser.Verify(b, m); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		m.Close()
	}
	refuses(t, filepath.Join(dir, "lying"), parser.Malformed, "the index says")
	refuses(t, filepath.Join(dir, "short"), parser.Malformed, "m-00002-of-00002.bin")
}

// The cache of the Hugging Face hub: links from a snapshot to blobs are followed,
// any other link out is not.
func TestTheHubsCacheIsHonest(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{}
	blob := func(content []byte, digest string) string {
		files["models--org--m/blobs/"+digest] = string(content)
		return "->../../blobs/" + digest
	}
	sum := func(content []byte) string {
		s := sha256.Sum256(content)
		return hex.EncodeToString(s[:])
	}
	snap := "models--org--m/snapshots/0123456789abcdef0123456789abcdef01234567/"
	files[snap+"model.safetensors.index.json"] = blob([]byte(index), strings.Repeat("ab", 20))
	files[snap+"model-00001-of-00002.safetensors"] = blob(shard("a"), sum(shard("a")))
	files[snap+"model-00002-of-00002.safetensors"] = blob(shard("b"), sum(shard("b")))
	files[snap+"config.json"] = blob([]byte(`{"x":1}`), sum([]byte("x")))
	files[snap+"vae/model.safetensors"] = "->../" + blob(shard("v"), sum(shard("v")))[2:]
	// What no honest cache holds.
	files["models--org--m/refs/main"] = "secret"
	files["models--other--n/blobs/"+sum(shard("n"))] = string(shard("n"))
	files["secret"] = "secret"
	files[snap+"other.json"] = "->../../../models--other--n/blobs/" + sum(shard("n"))
	files[snap+"refs.json"] = "->../../refs/main"
	files[snap+"secret.json"] = "->../../../secret"
	files[snap+"name.json"] = "->../../blobs/config"
	files["models--org--m/blobs/config"] = "named by no digest"
	files[snap+"twice.json"] = "->../../blobs/" + strings.Repeat("cd", 20)
	files["models--org--m/blobs/"+strings.Repeat("cd", 20)] = "->../../secret"
	put(t, dir, files)

	at := filepath.Join(dir, filepath.FromSlash(snap))
	mustOpen(t, at, "a", "b")
	mustOpen(t, filepath.Join(at, "model.safetensors.index.json"), "a", "b")
	mustOpen(t, filepath.Join(at, "model-00001-of-00002.safetensors"), "a")
	mustOpen(t, filepath.Join(at, "vae"), "v")
	linked := filepath.Join(dir, "linked")
	if err := os.Symlink(at, linked); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, linked, "a", "b")

	m, err := parser.Open(account(t, limits.Policy{}), at)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if text, err := fs.ReadFile(m.Configs(), "config.json"); err != nil || string(text) != `{"x":1}` {
		t.Errorf("config.json: %q, %v", text, err)
	}
	for _, name := range []string{"other.json", "refs.json", "secret.json", "name.json", "twice.json"} {
		if text, err := fs.ReadFile(m.Configs(), name); parser.ClassOf(err) != parser.Forbidden {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	for _, name := range []string{"../config.json", "/etc/passwd", "a/../config.json", ""} {
		if text, err := fs.ReadFile(m.Configs(), name); err == nil {
			t.Errorf("%q: %q", name, text)
		}
	}
}

func TestFindAppliesTheRuleOfFolders(t *testing.T) {
	dir := put(t, t.TempDir(), map[string]string{
		"a/model.safetensors.index.json":      index,
		"a/model-00001-of-00002.safetensors":  "",
		"a/other.npz":                         "",
		"b/model-00001-of-00002.safetensors":  "",
		"b/model-00002-of-00002.safetensors":  "",
		"b/deep/z.npy":                        "",
		"b/deep/a.npy":                        "",
		"b/deep/readme.txt":                   "",
		"c/only.npz":                          "",
		"d/model.safetensors":                 "",
		"d/model.safetensors.index.json":      index,
		"d/model.safetensors.index.fp16.json": index,
		"e/x-00001-of-00002.safetensors":      "",
		"e/x-00002-of-00002.safetensors":      "",
		"e/y.safetensors":                     "",
		"f/readme.txt":                        "",
	})
	find := func(path string, deep bool) []string {
		var list []string
		for s, err := range parser.Find(filepath.Join(dir, path), deep) {
			rel, relErr := filepath.Rel(dir, s.Path)
			if relErr != nil {
				t.Fatal(relErr)
			}
			if err != nil {
				rel += ": " + parser.ClassOf(err).String()
			}
			list = append(list, filepath.ToSlash(rel))
		}
		return list
	}
	cases := []struct {
		path string
		deep bool
		want []string
	}{
		{"a", false, []string{"a"}},
		{"b", false, []string{"b"}},
		{"b", true, []string{"b", "b/deep/a.npy", "b/deep/z.npy"}},
		{"c", false, []string{"c/only.npz"}},
		{"c/only.npz", false, []string{"c/only.npz"}},
		{"d", false, []string{"d/model.safetensors.index.fp16.json", "d/model.safetensors.index.json", "d/model.safetensors"}},
		{"e", false, []string{"e/x-00001-of-00002.safetensors", "e/y.safetensors"}},
		{"f", false, []string{"f: unsupported"}},
		{".", false, []string{".: unsupported"}},
		{"nothing", false, []string{"nothing: internal"}},
	}
	for _, c := range cases {
		if diff := cmp.Diff(c.want, find(c.path, c.deep)); diff != "" {
			t.Errorf("%s, deep %t: %s", c.path, c.deep, diff)
		}
	}
	if got := find(".", true); len(got) != 10 {
		t.Errorf("%d models in all: %v", len(got), got)
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

// What the facade says of the corpus is what the parsers say, or that the
// content is no model's: never that it is one.
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

// Any beginning of an honest file is truncated or malformed. The padding at the
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

// A name in a store of ollama opens the model that it stands for.
func TestOpenReadsTheStoreOfOllama(t *testing.T) {
	data := shard("a")
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	layer := `"digest":"sha256:` + digest + `","size":` + decimal(len(data))
	dir := put(t, t.TempDir(), map[string]string{
		"blobs/sha256-" + digest: string(data),
		"manifests/registry.ollama.ai/library/tiny/latest": `{"schemaVersion":2,"config":{"mediaType":"application/vnd.docker.container.image.v1+json",` + layer +
			`},"layers":[{"mediaType":"application/vnd.ollama.image.model",` + layer + `}]}`,
	})
	t.Setenv("OLLAMA_MODELS", dir)
	mustOpen(t, "ollama:tiny", "a")
	refuses(t, "ollama:other", parser.Usage, "ollama pull")
	refuses(t, "ollama:../tiny", parser.Usage, "")
	b := account(t, limits.Policy{})
	for s, err := range parser.Find("ollama:tiny", false) {
		if err != nil || s.Path != "ollama:tiny" {
			t.Errorf("%q, %v", s.Path, err)
		}
		m, err := s.Open(b)
		if err != nil {
			t.Fatal(err)
		}
		if err := parser.Verify(b, m); err != nil {
			t.Error(err)
		}
		if n, size := parser.Progress(m); n < int64(len(data)) || size != int64(len(data)) {
			t.Errorf("%d read of %d", n, size)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A split GGUF file is no model without the others, whichever of them is named.
func TestAnyFileOfASplitOpensTheWhole(t *testing.T) {
	const from = "../testdata/demo/split/"
	first, second := "tiny-00001-of-00002.gguf", "tiny-00002-of-00002.gguf"
	read := func(name string) string {
		data, err := os.ReadFile(from + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	dir := put(t, t.TempDir(), map[string]string{
		"whole/" + first:  read(first),
		"whole/" + second: read(second),
		"half/" + second:  read(second),
		"lfs/" + first:    read(first),
		"lfs/" + second:   "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n",
	})
	want := []string{"token_embd.weight", "blk.0.attn_q.weight", "output_norm.weight"}
	for _, name := range []string{"whole", "whole/" + first, "whole/" + second} {
		m, err := parser.Open(account(t, limits.Policy{}), filepath.Join(dir, name))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, names(m)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		m.Close()
	}
	refuses(t, filepath.Join(dir, "half"), parser.Malformed, first)
	refuses(t, filepath.Join(dir, "half", second), parser.Malformed, first)
	refuses(t, filepath.Join(dir, "lfs", first), parser.Unsupported, "Git LFS pointer")
}
