package cli_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/corpus"
)

// onePixel is an image of one grey pixel, by Pillow.
const onePixel = "\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00\x3a\x7e\x9b\x55\x00\x00\x00\x0a\x49\x44\x41\x54\x78\x9c\x63\x60\x00\x00\x00\x02\x00\x01\x48\xaf\xa4\x71\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60\x82"

// scanned runs a scan and returns its objects by path, in order.
func scanned(t testing.TB, args ...string) (list []map[string]any, code int) {
	t.Helper()
	r := amn(t, nil, append([]string{"scan", "--json", "-q"}, args...)...)
	for line := range strings.Lines(r.out) {
		valid(t, "scan", line)
		list = append(list, object(t, line))
	}
	return list, r.code
}

// extension is what files of a corpus folder are called.
func extension(format string) string {
	if format == "pickle" {
		return ".pkl"
	}
	return "." + format
}

// Every file of the corpus is judged, with the class that its recipe says.
func TestScanJudgesTheCorpusAsItsRecipesSay(t *testing.T) {
	for _, format := range []string{"pth", "pickle", "npy", "npz", "safetensors", "gguf"} {
		t.Run(format, func(t *testing.T) {
			dir, want := t.TempDir(), map[string]string{}
			for _, r := range corpus.Hostile(format) {
				if r.Policy == nil && len(r.Bytes()) > 0 {
					path := filepath.Join(dir, "hostile-"+r.Name+extension(format))
					write(t, path, string(r.Bytes()))
					want[path] = r.Expect
				}
			}
			for _, s := range corpus.Valid(format) {
				if s.Recipe == nil || s.Recipe.Policy == nil {
					path := filepath.Join(dir, "valid-"+strings.TrimSuffix(s.Name, filepath.Ext(s.Name))+extension(format))
					write(t, path, string(s.Data))
					want[path] = "ok"
				}
			}
			list, code := scanned(t, "--all", "--fail-on", "never", dir) // findings about valid files refuse none
			got, worst := map[string]string{}, 0
			for _, v := range list {
				path, _ := v["path"].(string)
				class, _ := v["class"].(string)
				got[path] = class
				exit, _ := v["exit"].(json.Number).Int64()
				worst = max(worst, int(exit))
			}
			exact := 0
			for path, class := range want {
				if got[path] == class {
					exact++
				}
				// Content may be of another format, or of none, and a scan goes on
				// where a load has stopped; these are harmless: the one is no checkpoint, the
				// other an array that joblib loads.
				harmless := slices.Contains([]string{"hostile-plain-pickle.pth", "hostile-joblib-type-of-type.pkl"}, filepath.Base(path))
				if refused := got[path] != "ok"; refused != (class != "ok") && !harmless {
					t.Errorf("%s is %s, want %s", filepath.Base(path), got[path], class)
				}
			}
			if len(got) != len(want) || exact*10 < len(want)*8 {
				t.Errorf("%d files judged of %d, %d as their recipes say", len(got), len(want), exact)
			}
			if code != worst {
				t.Errorf("exit %d, the highest of the files is %d", code, worst)
			}
		})
	}
}

// A pickle is one in a folder of other things: by its content, also where the
// name promises nothing.
func TestScanTellsPicklesFromOtherFiles(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string]string{
		"README.md":         "# A model\n\nclass Foo:\n    pass\n",
		"notes.txt":         "N.B. this is no pickle.\n",
		"main.py":           "import os\nos.system('id')\n",
		"config.json":       "{\"a\": 1}\n",
		"cover.png":         onePixel,
		"protocol0.txt":     "cos\nsystem\n(S'id'\ntR.",
		"broken-tail.dat":   "cposix\nsystem\n(S'id'\ntR\xff\xff",
		"plain.dat":         "\x80\x04]\x94(K\x01K\x02e.",
		"several.pkl":       "\x80\x02K\x01.\x80\x02K\x02.",
		"unknown.pickle":    "\x80\x02cmyapp\nConfig\n)R.",
		"cut.pkl":           "\x80\x02K",
		"empty.bin":         "",
		"page.pth":          "<!DOCTYPE html><html></html>",
		"sub/deep.pkl":      "\x80\x02N.",
		"m.index.json":      "{}",
		"archive.tar.lz4":   "\x04\"M\x18d@\xa7\x00",
		"checkpoint.tar.gz": "\x1f\x8b\x08\x00\x00\x00\x00\x00",
	} {
		write(t, filepath.Join(dir, name), data)
	}
	list, code := scanned(t, dir)
	got := map[string]string{}
	for _, v := range list {
		path, _ := filepath.Rel(dir, v["path"].(string))
		class, judged := v["class"].(string)
		if !judged {
			class = "skipped"
		}
		got[filepath.ToSlash(path)] = class
	}
	want := map[string]string{
		"README.md": "skipped", "notes.txt": "ok", "main.py": "ok", "config.json": "skipped", "cover.png": "skipped",
		"protocol0.txt": "forbidden", "broken-tail.dat": "forbidden", "plain.dat": "ok", "several.pkl": "ok", "unknown.pickle": "forbidden",
		"cut.pkl": "truncated", "empty.bin": "truncated", "page.pth": "unsupported", "sub/deep.pkl": "ok", "m.index.json": "skipped",
		"archive.tar.lz4": "unsupported", "checkpoint.tar.gz": "truncated",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	if code != 7 {
		t.Errorf("exit %d", code)
	}
}

// Files of a folder may have any names, that of standard input too.
func TestScanOpensFilesOfAnyName(t *testing.T) {
	model := load(t, filepath.Join(demo, "model.safetensors"))
	t.Chdir(t.TempDir())
	names := []string{"./-", "-x.npy", "a\nb.npy"}
	for _, name := range names {
		write(t, name, model)
	}
	if os.WriteFile("z\xff.safetensors", []byte(model), 0o666) == nil { // some systems want UTF-8
		names = append(names, "z\xff.safetensors")
	}
	r := amn(t, nil, "scan", "--json", ".")
	var got []string
	for line := range strings.Lines(r.out) {
		v := object(t, line)
		path, ok := v["path"].(string)
		if !ok {
			data, err := base64.StdEncoding.DecodeString(v["path_base64"].(string))
			if err != nil {
				t.Fatal(err)
			}
			path = string(data)
		}
		if v["class"] != "ok" {
			t.Errorf("%q: %v", path, v["class"])
		}
		got = append(got, filepath.ToSlash(path))
	}
	if diff := cmp.Diff(names, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	if r := amn(t, nil, "scan", "."); strings.Contains(r.out, "standard input") {
		t.Error(r.out)
	}
}

func TestScanWithNothingToJudgeIsUnsupported(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "README.md"), "# nothing\n")
	r := amn(t, nil, "scan", dir)
	if r.code != 5 || !strings.HasSuffix(r.out, "README.md: a text\n") || !strings.Contains(r.err, "nothing was judged") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	// A file that is named is judged, whatever it is.
	if r := amn(t, nil, "scan", filepath.Join(dir, "README.md")); r.code != 5 || !strings.HasPrefix(r.out, "unsupported") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if r := amn(t, nil, "scan", filepath.Join(dir, "missing.pt")); r.code != 2 || !strings.HasPrefix(r.out, "usage") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
}

// honest returns a valid file of the corpus.
func honest(t testing.TB, name string) string {
	t.Helper()
	for _, s := range corpus.Valid("pth") {
		if s.Name == name {
			return string(s.Data)
		}
	}
	t.Fatalf("no file %s", name)
	return ""
}

func hostile(t testing.TB, name string) string {
	t.Helper()
	list := corpus.Hostile("pth")
	i := slices.IndexFunc(list, func(r corpus.Recipe) bool { return r.Name == name })
	if i < 0 {
		t.Fatalf("no recipe %s", name)
	}
	return string(list[i].Bytes())
}

// The digest is that of the file, whatever of it the judgement reads.
func TestScanSaysTheDigest(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string]string{"tied.pt": honest(t, "tied.pt"), "m.safetensors": "\x02\x00\x00\x00\x00\x00\x00\x00{}"} {
		path := filepath.Join(dir, name)
		write(t, path, data)
		list, code := scanned(t, "--digest", path)
		if want := fmt.Sprintf("%x", sha256.Sum256([]byte(data))); code != 0 || len(list) != 1 || list[0]["sha256"] != want {
			t.Errorf("%s: exit %d, %v, want %s", name, code, list, want)
		}
		if list, _ := scanned(t, path); list[0]["sha256"] != nil {
			t.Errorf("%s: a digest that nothing asks for: %v", name, list)
		}
	}
}

// Links are followed inside of the folder that is scanned, and nowhere else.
func TestScanFollowsOnlyLinksWithinTheFolder(t *testing.T) {
	base := t.TempDir()
	write(t, filepath.Join(base, "elsewhere.pt"), honest(t, "tied.pt"))
	snap := filepath.Join(base, "models--a--b", "snapshots", "0123")
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte(honest(t, "tied.pt"))))
	write(t, filepath.Join(base, "models--a--b", "blobs", digest), honest(t, "tied.pt"))
	write(t, filepath.Join(snap, "own.pt"), honest(t, "root-list.pt"))
	for name, to := range map[string]string{
		"inner.pt": "own.pt", "outer.pt": "../../../elsewhere.pt", "blob.pt": "../../blobs/" + digest, "nowhere.pt": "gone",
		"folder": ".",
	} {
		if err := os.Symlink(filepath.FromSlash(to), filepath.Join(snap, name)); err != nil {
			t.Skipf("no links here: %v", err)
		}
	}
	list, code := scanned(t, snap)
	got := map[string]string{}
	for _, v := range list {
		if class, ok := v["class"].(string); ok {
			got[filepath.Base(v["path"].(string))] = class
		} else {
			got[filepath.Base(v["path"].(string))] = v["skipped"].(string)
		}
	}
	want := map[string]string{
		"own.pt": "ok", "inner.pt": "ok", "blob.pt": "ok", "outer.pt": "unsupported",
		"nowhere.pt": "unsupported", "folder": "a link to a folder of this one",
	}
	if diff := cmp.Diff(want, got); diff != "" || code != 5 {
		t.Errorf("exit %d, want -, got +:\n%s", code, diff)
	}
	if r := amn(t, nil, "scan", "--unlooked", "report", snap); r.code != 0 || !strings.Contains(r.err, "2 not looked at") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	// Links that are named are followed.
	for _, name := range []string{"outer.pt", "blob.pt"} {
		if r := amn(t, nil, "scan", filepath.Join(snap, name)); r.code != 0 {
			t.Errorf("%s: exit %d\n%s", name, r.code, r.out)
		}
	}
	named := filepath.Join(base, "named")
	if err := os.Symlink(snap, named); err != nil {
		t.Fatal(err)
	}
	if list, _ := scanned(t, named); len(list) != len(want) {
		t.Errorf("%d files behind a link that is named, want %d", len(list), len(want))
	}
}

// A file that could contain a model and was not read fails the gate, whatever its name; a file with
// harmless content does not.
func TestScanRefusesFilesThatItDidNotJudge(t *testing.T) {
	call := "cos\nsystem\n(S'id'\ntR."
	data := "(dp0\nS'w'\np1\n(lp2\n" + strings.Repeat("I1\na", 1<<20) + "sS'x'\n" + call[:len(call)-1] + "s."
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte(call))
	z.Close()
	for name, c := range map[string]struct {
		data string
		code int
	}{
		"weights.pkl.gz":  {packed.String(), 7},
		"weights.pkl.bz2": {"BZh91AY&SY\x00\x00\x00", 4},
		"weights.pkl.lz4": {"\x04\"M\x18d@\xa7\x00", 5},
		"weights.pkl.z":   {"x\x9c\x03\x00\x00\x00\x00\x01", 0},
		"model.nemo":      {strings.Repeat("\x00", 1024), 5},
		"model.h5":        {"\x89HDF\r\n\x1a\n\x00", 4},
		"notes.txt":       {data, 7}, // 4 MiB of text, and a pickle
		"blob":            {"\x01\x02\x00\x03", 5},
		"model.gguf.old":  {"GGUF", 4},
		"cover.png":       {onePixel, 0},
		"end.png":         {"\x89PNG\r\n\x1a\nPK\x05\x06" + strings.Repeat("\x00", 18), 5},
		"LICENSE":         {"All rights reserved.\n", 0},
		"a.index.json":    {"{}", 0},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "ok.pt"), honest(t, "tied.pt"))
		write(t, filepath.Join(dir, name), c.data)
		if r := amn(t, nil, "scan", dir); r.code != c.code {
			t.Errorf("%s: exit %d, want %d\n%s%s", name, r.code, c.code, r.out, r.err)
		}
		if r := amn(t, nil, "scan", "--unlooked", "report", dir); c.code == 5 && r.code != 0 {
			t.Errorf("%s, reported: exit %d\n%s%s", name, r.code, r.out, r.err)
		}
	}
}

// An index is judged as it is opened: where it leads counts.
func TestScanJudgesAnIndex(t *testing.T) {
	base := t.TempDir()
	write(t, filepath.Join(base, "outside.bin"), honest(t, "tied.pt"))
	own := filepath.Join(base, "own.bin")
	write(t, own, honest(t, "state-dict.pt"))
	whole := object(t, amn(t, nil, "parse", "--json", own).out)
	var names []string
	for _, v := range whole["tensors"].([]any) {
		names = append(names, fmt.Sprintf("%q:%q", v.(map[string]any)["name"], "own.bin"))
	}
	for _, c := range []struct {
		weights string
		code    int
	}{
		{`"x":"../outside.bin"`, 7}, {`"x":"gone.bin"`, 3}, {`"x":"own.bin"`, 3}, {strings.Join(names, ","), 0},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "own.bin"), honest(t, "state-dict.pt"))
		index := filepath.Join(dir, "pytorch_model.bin.index.json")
		write(t, index, `{"weight_map":{`+c.weights+`}}`)
		for _, args := range [][]string{{"inspect", index}, {"scan", index}, {"scan", dir}} {
			if r := amn(t, nil, args...); r.code != c.code {
				t.Errorf("%s of %s: exit %d, want %d\n%s%s", args[0], c.weights, r.code, c.code, r.out, r.err)
			}
		}
	}
}

// A folder with only texts has nothing that could be a model, just like a wrong path; an archive
// with only texts was opened. Errors of a text are the same in both.
func TestAFolderOfTextsHasNoModel(t *testing.T) {
	t.Chdir(t.TempDir())
	for text, codes := range map[string][2]int{"{}": {5, 0}, `{"_target_": "os.system", "_args_": ["id"]}`: {7, 7}} {
		write(t, "m/config.json", text)
		write(t, "m/README.md", "# a\n")
		var out bytes.Buffer
		w := tar.NewWriter(&out)
		if err := w.AddFS(os.DirFS("m")); err != nil {
			t.Fatal(err)
		}
		w.Close()
		write(t, "m.tar", out.String())
		for i, path := range []string{"m", "m.tar"} {
			if r := amn(t, nil, "scan", "--limits", "upload", path); r.code != codes[i] {
				t.Errorf("%s, %s: exit %d, want %d: %s%s", path, text, r.code, codes[i], r.out, r.err)
			}
		}
	}
}
