package gate_test

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/handler"
	"github.com/anamnesis-go/anamnesis/gate/host"
	"github.com/anamnesis-go/anamnesis/internal/effort"
	"github.com/anamnesis-go/anamnesis/internal/folder"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// An answer is the worst class of a content and the rules that refuse it.
type answer struct {
	class wire.Class
	rules string
}

func (a answer) String() string { return a.class.String() + " [" + a.rules + "]" }

func answerOf(t *testing.T, list []*gate.Verdict) answer {
	t.Helper()
	var a answer
	rules := map[string]bool{}
	for _, v := range list {
		a.class = max(a.class, v.Class())
		for _, r := range v.Refusals() {
			rules[r.Rule] = true
		}
	}
	a.rules = strings.Join(slices.Sorted(maps.Keys(rules)), " ")
	return a
}

func judgePath(t *testing.T, g *gate.Gate, path string) answer {
	t.Helper()
	b := g.Policy.Limits.Budget(t.Context())
	defer b.Close()
	var list []*gate.Verdict
	for v, err := range g.CheckPath(b, path) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	return answerOf(t, list)
}

// filesBelow reads a folder; a link reads "-> x".
func filesBelow(t *testing.T, root string) (list []member) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		m := member{name: filepath.ToSlash(rel)}
		if d.Type()&fs.ModeSymlink != 0 {
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			m.data = "-> " + to
		} else {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			m.data = string(data)
		}
		list = append(list, m)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// containers put the files of a folder elsewhere, and judge them there.
var containers = map[string]func(t *testing.T, g *gate.Gate, root string, files []member) answer{
	"file system": func(t *testing.T, g *gate.Gate, _ string, files []member) answer {
		b := g.Policy.Limits.Budget(t.Context())
		defer b.Close()
		tree := fstest.MapFS{}
		for _, m := range files {
			tree[m.name] = &fstest.MapFile{Data: []byte(m.data), Mode: 0o644}
		}
		var list []*gate.Verdict
		for v, err := range g.CheckFS(b, tree, ".", "x") {
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, v)
		}
		return answerOf(t, list)
	},
	"one verdict": func(t *testing.T, g *gate.Gate, _ string, files []member) answer {
		b := g.Policy.Limits.Budget(t.Context())
		defer b.Close()
		var f gate.Folder
		for _, m := range files {
			if err := f.Add(gate.File{Name: m.name, Size: int64(len(m.data))}, strings.NewReader(m.data)); err != nil {
				t.Fatal(err)
			}
		}
		v, err := g.CheckFolder(b, &f, gate.Hint{})
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		return answerOf(t, []*gate.Verdict{v})
	},
	"tar": func(t *testing.T, g *gate.Gate, _ string, files []member) answer {
		return judgeBytes(t, g, "model.tar", tarred(t, files...))
	},
	"tar.gz": func(t *testing.T, g *gate.Gate, _ string, files []member) answer {
		return judgeBytes(t, g, "model.tar.gz", gzipped(t, tarred(t, files...)))
	},
	"form": func(t *testing.T, g *gate.Gate, _ string, files []member) answer {
		return uploaded(t, g, files)
	},
	"upload of a tar": func(t *testing.T, g *gate.Gate, _ string, files []member) answer {
		return uploaded(t, g, []member{{"model.tar", tarred(t, files...)}})
	},
	"zip": func(t *testing.T, g *gate.Gate, _ string, files []member) answer {
		return judgeBytes(t, g, "model.zip", zipped(t, files...))
	},
	"OCI layout": func(t *testing.T, g *gate.Gate, _ string, files []member) answer {
		layer := gzipped(t, tarred(t, files...))
		blob := func(media, data string) string {
			return fmt.Sprintf(`{"mediaType":%q,"digest":"sha256:%s","size":%d}`, media, sum(data), len(data))
		}
		config := "{}"
		manifest := `{"schemaVersion":2,"config":` + blob("application/vnd.oci.image.config.v1+json", config) + `,"layers":[` + blob("application/vnd.oci.image.layer.v1.tar+gzip", layer) + `]}`
		return judgePath(t, g, lay(t, map[string]string{
			"oci-layout": `{"imageLayoutVersion":"1.0.0"}`, "index.json": `{"schemaVersion":2,"manifests":[` + blob("application/vnd.oci.image.manifest.v1+json", manifest) + `]}`,
			"blobs/sha256/" + sum(layer): layer, "blobs/sha256/" + sum(manifest): manifest, "blobs/sha256/" + sum(config): config,
		}))
	},
	"hub cache": func(t *testing.T, g *gate.Gate, _ string, files []member) answer {
		rev := strings.Repeat("a", 40)
		snapshot := "models--a--b/snapshots/" + rev
		tree := map[string]string{"models--a--b/refs/main": rev}
		for _, m := range files {
			s := sha1.Sum([]byte(fmt.Sprintf("blob %d\x00%s", len(m.data), m.data)))
			name := hex.EncodeToString(s[:])
			if len(m.data) > 1000 {
				name = sum(m.data)
			}
			tree["models--a--b/blobs/"+name] = m.data
			tree[snapshot+"/"+m.name] = "-> " + strings.Repeat("../", strings.Count(m.name, "/")+2) + "blobs/" + name
		}
		return judgePath(t, g, filepath.Join(lay(t, tree), filepath.FromSlash(snapshot)))
	},
	"ollama store": func(t *testing.T, g *gate.Gate, _ string, files []member) answer {
		data := files[0].data
		config := `{"model_format":"gguf"}`
		t.Setenv("OLLAMA_MODELS", lay(t, map[string]string{
			"blobs/sha256-" + sum(data): data, "blobs/sha256-" + sum(config): config,
			"manifests/registry.ollama.ai/library/m/latest": fmt.Sprintf(`{"schemaVersion":2,"mediaType":"application/vnd.docker.distribution.manifest.v2+json","config":{"mediaType":"application/vnd.docker.container.image.v1+json","digest":"sha256:%s","size":%d},"layers":[{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:%s","size":%d}]}`,
				sum(config), len(config), sum(data), len(data)),
		}))
		return judgePath(t, g, "ollama:m")
	},
}

// uploaded sends files as a form, and returns the answer of the handler.
func uploaded(t *testing.T, g *gate.Gate, files []member) answer {
	t.Helper()
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u := handler.Uploads(r.Context())
		if len(u) != 1 || !handler.Acceptance(r.Context()).OK() || len(files) > 1 && len(u[0].Files()) != len(files) {
			t.Errorf("%d uploads for %d files", len(u), len(files))
		}
	})
	h, err := handler.New(next, handler.Options{Options: host.Options{Gate: *g, Dir: t.TempDir()}, MaxFiles: 5000})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, m := range files {
		w, err := form.CreateFormFile("file", m.name) // the name with its folders
		if err == nil {
			_, err = io.WriteString(w, m.data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	form.Close()
	r := httptest.NewRequest(http.MethodPost, "/", &body)
	r.Header.Set("Content-Type", form.FormDataContentType())
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code == http.StatusOK {
		return answer{}
	}
	var p struct {
		Class string
		Rules []string
	}
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatal(err, w.Body)
	}
	a := answer{class: wire.Internal}
	for _, c := range []wire.Class{wire.Malformed, wire.Truncated, wire.Unsupported, wire.Limit, wire.Forbidden} {
		if c.String() == p.Class {
			a.class = c
		}
	}
	slices.Sort(p.Rules)
	a.rules = strings.Join(slices.Compact(p.Rules), " ")
	return a
}

func judgeBytes(t *testing.T, g *gate.Gate, name, data string) answer {
	t.Helper()
	b := g.Policy.Limits.Budget(t.Context())
	defer b.Close()
	v, err := g.Check(b, strings.NewReader(data), int64(len(data)), gate.Hint{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	return answerOf(t, []*gate.Verdict{v})
}

// everyFolder calls judge with each folder of a recipe, and with honest ones.
func everyFolder(t *testing.T, judge func(name, root string, g *gate.Gate)) {
	for _, r := range corpus.Gate() {
		g := gate.New(gate.Policy{})
		if r.Policy != nil {
			p, err := gate.ParsePolicy(r.Policy)
			if err != nil {
				t.Fatal(err)
			}
			g.Policy = p
		}
		if strings.Contains(r.File, ":") {
			continue // of a store
		}
		root := ""
		if r.Folder {
			root = laidOut(t, r.Bytes())
		} else {
			root = lay(t, map[string]string{filepath.Base(r.File): string(r.Bytes())})
		}
		judge("recipe "+r.Name, root, g)
	}
	for _, folder := range []string{"demo/sharded", "demo/split", "demo/llama-fp8", "demo/adapter", "mlx/model", "mlx/plain", "mlx/q4", "convert/tied", "gate/trainer", "demo"} {
		judge(folder, filepath.Join("..", "testdata", filepath.FromSlash(folder)), gate.New(gate.Policy{}))
	}
	for what, files := range liveFolders(t) {
		files["model.safetensors"] = empty
		judge("live "+what, lay(t, files), gate.New(gate.Policy{}))
	}
	numbers := strings.Repeat("\x01\x02\x03\x04", 6)
	one := func(name string) string { return header(uint64(len(oneTensor)), oneTensor) + name }
	for what, files := range map[string]map[string]string{
		"an index with its shard":             {"model.safetensors.index.json": `{"weight_map":{"a":"x.safetensors"}}`, "x.safetensors": one("\x00\x00\x00\x00")},
		"an index with a shard below":         {"model.safetensors.index.json": `{"weight_map":{"a":"s/x.safetensors"}}`, "s/x.safetensors": one("\x00\x00\x00\x00")},
		"an index that names another tensor":  {"model.safetensors.index.json": `{"weight_map":{"b":"x.safetensors"}}`, "x.safetensors": one("\x00\x00\x00\x00")},
		"an index in a folder, that does so":  {"sub/model.safetensors.index.json": `{"weight_map":{"b":"x.safetensors"}}`, "sub/x.safetensors": one("\x00\x00\x00\x00")},
		"an index whose shard is missing":     {"model.safetensors.index.json": `{"weight_map":{"a":"y.safetensors"}}`, "x.safetensors": one("\x00\x00\x00\x00")},
		"an index that leaves the folder":     {"sub/model.safetensors.index.json": `{"weight_map":{"a":"../x.safetensors"}}`, "x.safetensors": one("\x00\x00\x00\x00")},
		"a tensor in two shards":              {"model.safetensors.index.json": `{"weight_map":{"a":"x.safetensors","c":"y.safetensors"}}`, "x.safetensors": one("\x00\x00\x00\x00"), "y.safetensors": one("\x00\x00\x00\x01")},
		"an index that is no JSON":            {"model.safetensors.index.json": `{"weight_map":`, "x.safetensors": one("\x00\x00\x00\x00")},
		"an index of a checkpoint, untrue":    {"pytorch_model.bin.index.json": `{"weight_map":{"a":"x.bin"}}`, "x.bin": valid(t, "pth", "tied.pt")},
		"an ONNX model with its data":         {"m.onnx": seed(t, "onnx", "outside.onnx"), "outside.onnx.data": numbers},
		"data without their ONNX model":       {"outside.onnx.data": numbers},
		"data of an ONNX model elsewhere":     {"m.onnx": seed(t, "onnx", "outside.onnx"), "sub/outside.onnx.data": numbers},
		"code beside the class that names it": {"config.json": `{"auto_map": {"AutoModel": "modeling_x.M"}}`, "modeling_x.py": "import os\n", "m.safetensors": empty},
		"a template that asks for more":       {"chat_template.jinja": "{{ ''.__class__ }}", "m.safetensors": empty},
	} {
		judge(what, lay(t, files), gate.New(gate.Policy{}))
	}
	for _, s := range corpus.Valid("gguf")[:3] {
		judge("gguf "+s.Name, lay(t, map[string]string{"model.gguf": string(s.Data)}), gate.New(gate.Policy{}))
	}
}

// A difference is one that a container causes.
type difference struct {
	why  string
	is   func(name, in string, files []member) bool
	then func(want, got answer) bool // what holds nevertheless
}

func hasLink(files []member) bool {
	return slices.ContainsFunc(files, func(m member) bool { return strings.HasPrefix(m.data, "-> ") })
}

func inArchive(in string) bool {
	return slices.Contains([]string{"OCI layout", "tar", "tar.gz", "upload of a tar"}, in)
}

var differences = []difference{
	{"a link in an archive is never followed, so it is refused for itself and not for where it leads",
		func(_, in string, files []member) bool { return hasLink(files) && inArchive(in) },
		func(want, got answer) bool { return want.class != wire.OK && got.class != wire.OK }},
	{"what is sent alone must be a model, which a file of a folder need not be",
		func(_, in string, files []member) bool { return in == "form" && len(files) == 1 },
		func(_, got answer) bool { return got.class != wire.OK }},
	{"files of which none is a model are nothing that a host takes as one, as the command ends with 5 for their folder",
		func(_, in string, _ []member) bool { return in == "form" || in == "one verdict" },
		func(want, got answer) bool { return want.class == wire.OK && got.rules == "detect.foreign" }},
	{"a ZIP archive with a data.pkl is a checkpoint of torch, which it must be whole",
		func(_, in string, files []member) bool {
			return in == "zip" && slices.ContainsFunc(files, func(m member) bool { return m.name == "data.pkl" })
		},
		func(want, got answer) bool { return want.class != wire.OK && got.class != wire.OK }},
	{"a text that repeats itself packs better than the limit allows",
		func(name, in string, _ []member) bool {
			return strings.Contains(name, "template-size") && (in == "zip" || in == "tar.gz" || in == "OCI layout")
		},
		func(_, got answer) bool { return got.rules == "limit.inflate_ratio" }},
	{"in the cache of the hub the name of a blob states the digest, not that of the file",
		func(name, in string, _ []member) bool { return name == "recipe gate-digest-name" && in == "hub cache" },
		func(_, got answer) bool { return got.class == wire.OK }},
}

// cannotHold reports whether a container holds no such files.
func cannotHold(in string, files []member) bool {
	switch in {
	case "ollama store":
		return len(files) != 1 || !strings.HasPrefix(files[0].data, "GGUF")
	case "one verdict", "form": // which take no name that some system changes
		return hasLink(files) || slices.ContainsFunc(files, func(m member) bool { return folder.CheckStored(m.name) != nil })
	case "zip", "file system", "hub cache": // links here are others, or none
		return hasLink(files)
	}
	return false
}

// The same files have the same class by the same rules, wherever they are.
func TestOneContentHasOneVerdict(t *testing.T) {
	used, count, every := map[string]bool{}, 0, 0
	everyFolder(t, func(name, root string, g *gate.Gate) {
		files := filesBelow(t, root)
		want := judgePath(t, g, root)
		for _, in := range slices.Sorted(maps.Keys(containers)) {
			if cannotHold(in, files) {
				continue
			}
			i := slices.IndexFunc(differences, func(d difference) bool { return d.is(name, in, files) })
			if every++; !effort.Whole() && i < 0 && strings.HasPrefix(name, "recipe") && every%4 != 0 {
				continue
			}
			count++
			got := containers[in](t, g, root, files)
			switch {
			case got == want:
			case i < 0 || !differences[i].then(want, got):
				t.Errorf("%s in %s: %v, not %v", name, in, got, want)
			default:
				used[differences[i].why] = true
			}
		}
	})
	for _, d := range differences {
		if !used[d.why] {
			t.Errorf("nothing differs because %s", d.why)
		}
	}
	t.Logf("%d contents in their containers", count)
}
