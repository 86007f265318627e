package ollama_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/ollama"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

func TestNames(t *testing.T) {
	for _, tc := range []struct{ name, want string }{
		{"ollama:llama3.2", "manifests/registry.ollama.ai/library/llama3.2/latest"},
		{"ollama:llama3.2:1b", "manifests/registry.ollama.ai/library/llama3.2/1b"},
		{"llama3.2:1b", "manifests/registry.ollama.ai/library/llama3.2/1b"},
		{"ollama:someone/model:q4_K_M", "manifests/registry.ollama.ai/someone/model/q4_K_M"},
		{"ollama:hf.co/someone/repo:Q8_0", "manifests/hf.co/someone/repo/Q8_0"},
		{"ollama:https://hf.co/someone/repo", "manifests/hf.co/someone/repo/latest"},
		{"ollama:localhost:5000/a/b", "manifests/localhost:5000/a/b/latest"},
		{"ollama:localhost:5000/a/b:c", "manifests/localhost:5000/a/b/c"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n, err := ollama.ParseName(tc.name)
			if err != nil || n.Path() != tc.want {
				t.Errorf("%q, %v; want %q", n.Path(), err, tc.want)
			}
		})
	}
	for _, bad := range []string{
		"ollama:", "ollama::x", "ollama:a:", "ollama:../a", "ollama:a/../b", "ollama:..", "ollama:a:..", "ollama:/a", "ollama:a//b",
		"ollama:a/b/c/d", "ollama:.a", "ollama:a:.b", "ollama:a\x00b", "ollama:a\\b", "ollama:a b", "ollama:ns.dot/x/y:z/..",
		"ollama:h/n.s/m", "ollama:" + strings.Repeat("a", 81), "ollama:" + strings.Repeat("h", 351) + "/a/b",
	} {
		t.Run("refused "+bad, func(t *testing.T) {
			if n, err := ollama.ParseName(bad); wire.ClassOf(err) != wire.Usage {
				t.Errorf("%+v, %v", n, err)
			}
		})
	}
}

// layer is what a test's store is built from.
type layer struct{ kind, name, body string }

func digest(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

const manifestPath = "manifests/registry.ollama.ai/library/m/latest"

func store(layers ...layer) fstest.MapFS {
	files := fstest.MapFS{}
	var list []string
	for _, l := range layers {
		files["blobs/sha256-"+digest(l.body)] = &fstest.MapFile{Data: []byte(l.body)}
		list = append(list, fmt.Sprintf(`{"mediaType":"application/vnd.ollama.image.%s","digest":"sha256:%s","size":%d,"name":%q}`,
			l.kind, digest(l.body), len(l.body), l.name))
	}
	files[manifestPath] = &fstest.MapFile{Data: []byte(`{"schemaVersion":2,"config":{},"layers":[` + strings.Join(list, ",") + `]}`)}
	return files
}

// decode reads a test's body: the names of its tensors, a byte each.
func decode(_ *limits.Budget, r io.ReaderAt, size int64) (tensor.Model, error) {
	body := make([]byte, size)
	if err := wire.ReadFull(r, body, 0); err != nil {
		return nil, err
	}
	f := &tensor.File{Name: "safetensors", Source: r}
	for i, name := range strings.Fields(string(body)) {
		f.Infos = append(f.Infos, tensor.Info{Name: name, DType: tensor.U8, Shape: []int64{1}, Span: tensor.Span{Off: int64(i), Len: 1}})
	}
	return f, nil
}

func open(t *testing.T, fsys fs.FS) (tensor.Model, error) {
	t.Helper()
	ledger.Charges(t)
	b := limits.Policy{}.Budget(t.Context())
	t.Cleanup(b.Close)
	n, err := ollama.ParseName("m")
	if err != nil {
		t.Fatal(err)
	}
	return ollama.Open(b, fsys, n, decode)
}

func names(m tensor.Model) (out []string) {
	for i := range m.Tensors() {
		out = append(out, i.Name)
	}
	return out
}

func TestAModelOfOneFile(t *testing.T) {
	m, err := open(t, store(layer{kind: "model", body: "a b"}, layer{kind: "template", body: "{{ .Prompt }}"}))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if diff := cmp.Diff([]string{"a", "b"}, names(m)); diff != "" {
		t.Error(diff)
	}
}

func TestAModelOfOneTensorABlob(t *testing.T) {
	m, err := open(t, store(
		layer{"tensor", "x.weight", "data"}, layer{"tensor", "y.weight", "y.weight y.scale"}, layer{"json", "config.json", `{"a":1}`}))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if diff := cmp.Diff([]string{"x.weight", "y.weight", "y.scale"}, names(m)); diff != "" {
		t.Error(diff)
	}
	config, err := fs.ReadFile(m.Configs(), "config.json")
	if err != nil || string(config) != `{"a":1}` {
		t.Errorf("%q, %v", config, err)
	}
	for i := range m.Tensors() {
		b := limits.Policy{}.Budget(t.Context())
		defer b.Close()
		body, err := m.Body(b, i)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(body); err != nil || len(got) != 1 {
			t.Errorf("%s: %q, %v", i.Name, got, err)
		}
	}
}

func TestAStoreThatWasNotMigrated(t *testing.T) {
	files := store(layer{kind: "model", body: "a"})
	files["blobs/sha256:"+digest("a")] = files["blobs/sha256-"+digest("a")]
	delete(files, "blobs/sha256-"+digest("a"))
	if m, err := open(t, files); err != nil {
		t.Error(err)
	} else {
		m.Close()
	}
}

func TestMoreBlobsThanMayStayOpen(t *testing.T) {
	var layers []layer
	for i := range 300 {
		layers = append(layers, layer{"tensor", fmt.Sprintf("t%d", i), fmt.Sprintf("t%d", i)})
	}
	m, err := open(t, store(layers...))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	if err := m.(tensor.Verifier).Verify(b); err != nil || m.Len() != 300 {
		t.Errorf("%d tensors, %v", m.Len(), err)
	}
}

func TestVerifyComparesTheDigest(t *testing.T) {
	files := store(layer{kind: "model", body: "a b"})
	files["blobs/sha256-"+digest("a b")].Data = []byte("a c")
	m, err := open(t, files)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	if err := m.(tensor.Verifier).Verify(b); !errors.Is(err, wire.ErrChecksum) {
		t.Errorf("got %v", err)
	}
}

func TestHostileStores(t *testing.T) {
	manifest := func(text string) fstest.MapFS {
		return fstest.MapFS{manifestPath: &fstest.MapFile{Data: []byte(text)}}
	}
	one := func(digest string) fstest.MapFS {
		return manifest(`{"schemaVersion":2,"layers":[{"mediaType":"application/vnd.ollama.image.model","digest":"` + digest + `","size":1}]}`)
	}
	short := store(layer{kind: "model", body: "abc"})
	short["blobs/sha256-"+digest("abc")].Data = []byte("ab")
	long := store(layer{kind: "model", body: "abc"})
	long["blobs/sha256-"+digest("abc")].Data = []byte("abcd")
	fifo := store(layer{kind: "model", body: "abc"})
	fifo["blobs/sha256-"+digest("abc")].Mode = fs.ModeNamedPipe
	for _, tc := range []struct {
		what  string
		files fs.FS
		want  wire.Class
	}{
		{"no such model", fstest.MapFS{}, wire.Usage},
		{"digest that leaves the store", one("sha256:../../../../../etc/passwd"), wire.Malformed},
		{"digest with a path of the right length", one("sha256:../" + strings.Repeat("a", 61)), wire.Malformed},
		{"digest of another hash", one("md5:" + strings.Repeat("a", 64)), wire.Malformed},
		{"blob that is not there", one("sha256:" + strings.Repeat("a", 64)), wire.Malformed},
		{"blob cut short", short, wire.Truncated},
		{"blob too long", long, wire.Malformed},
		{"blob that is a pipe", fifo, wire.Unsupported},
		{"manifest of two megabytes", manifest(strings.Repeat(" ", 2<<20) + "{}"), wire.Limit},
		{"manifest of another schema", manifest(`{"schemaVersion":1,"layers":[]}`), wire.Unsupported},
		{"manifest with a key twice", manifest(`{"schemaVersion":2,"schemaVersion":2,"layers":[]}`), wire.Malformed},
		{"manifest cut short", manifest(`{"schemaVersion":2,`), wire.Truncated},
		{"layer without size", manifest(`{"schemaVersion":2,"layers":[{"mediaType":"x","digest":"sha256:` + strings.Repeat("a", 64) + `"}]}`), wire.Malformed},
		{"layer of negative size", manifest(`{"schemaVersion":2,"layers":[{"size":-1}]}`), wire.Malformed},
		{"model on a server", store(layer{kind: "params", body: "{}"}), wire.Unsupported},
		{"model and tensors", store(layer{kind: "model", body: "a"}, layer{"tensor", "b", "b"}), wire.Malformed},
		{"tensor without a name", store(layer{"tensor", "", "b"}), wire.Malformed},
		{"tensor in two blobs", store(layer{"tensor", "b", "b"}, layer{"tensor", "c", "c b"}), wire.Malformed},
	} {
		t.Run(tc.what, func(t *testing.T) {
			m, err := open(t, tc.files)
			if err == nil {
				m.Close()
			}
			if got := wire.ClassOf(err); got != tc.want {
				t.Errorf("class %v, want %v: %v", got, tc.want, err)
			}
		})
	}
}

func TestConfigsStayInTheStore(t *testing.T) {
	for _, name := range []string{"../../etc/passwd", "/etc/passwd", ".", `..\config.json`} {
		if m, err := open(t, store(layer{kind: "model", body: "a"}, layer{"json", name, "{}"})); err == nil {
			m.Close()
			t.Errorf("%s: accepted", name)
		} else if wire.ClassOf(err) != wire.Forbidden {
			t.Errorf("%s: %v", name, err)
		}
	}
	m, err := open(t, store(layer{kind: "model", body: "a"}, layer{"json", "ok/c.json", "{}"}))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if f, err := m.Configs().Open("ok/c.json"); err != nil {
		t.Error(err)
	} else if info, err := f.Stat(); err != nil || info.Name() != "c.json" {
		t.Errorf("%v, %v", info, err)
	}
}

func TestFolders(t *testing.T) {
	t.Setenv("OLLAMA_MODELS", "/m")
	if got := ollama.Folders(); !cmp.Equal(got, []string{"/m"}) {
		t.Errorf("%q", got)
	}
	t.Setenv("OLLAMA_MODELS", "")
	if got := ollama.Folders(); len(got) == 0 {
		t.Error("no folder")
	}
}
