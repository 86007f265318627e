package cli_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestDigestsAreKeptAndChecked(t *testing.T) {
	t.Chdir(workplace(t))
	data, err := os.ReadFile("model.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	plain := amn(t, nil, "digest", "model.safetensors")
	if plain.code != 0 || !strings.HasPrefix(plain.out, hex.EncodeToString(sum[:])+"  model.safetensors\n") {
		t.Errorf("exit %d, %s%s", plain.code, plain.out, plain.err)
	}
	for _, step := range []struct {
		args string
		code int
		has  string
	}{
		{"digest sharded", 0, "  sharded/model-00001-of-00002.safetensors\n"},
		{"digest -q -o m.json model.safetensors sharded", 0, ""},
		{"digest -q -o m.json model.safetensors", 2, "--force"},
		{"digest -q --check m.json", 0, "the same, 24 tensors"},
		{"digest -q --check m.json model.safetensors", 2, "several models"},
		{"digest -q -f -o m.json model.safetensors", 0, ""},
		{"digest -q --check m.json sharded", 8, "is not in the manifest"},
		{"digest -q --check m.json --tensors sharded", 0, "the same"},
		{"digest -q --check m.json --json weights.npz", 8, `"same":false`},
		{"digest -q --check model.safetensors", 2, "not a manifest"},
		{"digest -q --check none.json", 2, ""},
		{"digest -q -o llama-fp8/m.json model.safetensors sharded", 0, ""}, // in another folder
		{"digest -q --check llama-fp8/m.json", 7, "outside of its folder: --outside opens it nevertheless"},
		{"digest -q --check llama-fp8/m.json --outside", 0, "sharded: the same"},
		{"digest -q -o none/m.json model.safetensors", 2, "its folder does not exist"},
		{"digest", 2, "name a model"},
		{"digest --tensors model.safetensors", 2, "--check"},
		{"digest none.safetensors", 2, "no such file"},
	} {
		r := amn(t, nil, strings.Fields(step.args)...)
		if r.code != step.code || !strings.Contains(r.out+r.err, step.has) {
			t.Errorf("%s: exit %d, %s%s", step.args, r.code, r.out, r.err)
		}
	}
	if list, err := filepath.Glob(".*amn-partial"); err != nil || len(list) > 0 {
		t.Errorf("left: %v, %v", list, err)
	}
	data[len(data)-1] ^= 1
	write(t, "model.safetensors", string(data))
	r := amn(t, nil, "digest", "-q", "--check", "m.json")
	if r.code != 8 || !strings.Contains(r.out, "file model.safetensors differs") || strings.Count(r.out, "tensor ") != 1 {
		t.Errorf("exit %d, %s", r.code, r.out)
	}
}

// A manifest that is right about the files and wrong about one other thing does not hold.
func TestEverythingThatAManifestStatesIsCompared(t *testing.T) {
	t.Chdir(workplace(t))
	if r := amn(t, nil, "digest", "-q", "-o", "m.json", "model.safetensors"); r.code != 0 {
		t.Fatal(r.err)
	}
	text := load(t, "m.json")
	first := func(pattern string) string { return regexp.MustCompile(pattern).FindString(text) }
	entry := first(`\{"name":"[^"]*","dtype":[^}]*\}`)
	for _, c := range []struct {
		what, old, now string
		code           int
		has            string
	}{
		{"as it is", "", "", 0, "the same"},
		{"digest of a tensor", first(`"dtype":"[^"]*","shape":\[[^]]*\],"bytes":[0-9]*,"sha256":"..`), "", 8, "differs"},
		{"shape of a tensor", first(`"shape":\[`), `"shape":[7,`, 8, "it was"},
		{"type of a tensor", first(`"dtype":"[^"]*"`), `"dtype":"I8"`, 8, "it was"},
		{"bytes of a tensor", first(`"bytes":[0-9]*`), `"bytes":1`, 8, "the manifest states 1 byte"},
		{"name of a tensor", entry, strings.Replace(entry, `"name":"`, `"name":"x`, 1), 8, "is missing"},
		{"a tensor that is left out", entry + ",", "", 8, "is not in the manifest"},
		{"a tensor that is stated twice", entry, entry + "," + entry, 8, "twice"},
		{"one more tensor", entry, entry + "," + strings.Replace(entry, `"name":"`, `"name":"x`, 1), 8, "is missing"},
		{"size of a file", first(`"size":[0-9]*`), `"size":1`, 8, "the manifest states 1 byte"},
		{"one more file", `"files":[`, `"files":[{"name":"x","size":0,"sha256":"` + strings.Repeat("0", 64) + `"},`, 8, "is missing"},
		{"no file", first(`"files":\[[^]]*\]`), `"files":[]`, 8, "is not in the manifest"},
		{"the format", `"format":"safetensors"`, `"format":"gguf"`, 8, "the format is"},
		{"the digest of the model", first(`"model":"..`), `"model":"00`, 8, "contradicts itself"},
		{"another result", `"class":"ok"`, `"class":"limit"`, 2, "not a manifest"},
		{"a member that nothing compares", `"class":"ok"`, `"class":"ok","signed":true`, 5, "does not compare"},
		{"a member of other letters", first(`"sha256":"`), `"SHA256":"`, 5, "does not compare"},
		{"a member that is repeated", `"format":"safetensors"`, `"format":"safetensors","format":"safetensors"`, 2, "not a manifest"},
		{"no tensors at all", `"tensors":[`, `"tensor":[`, 5, "does not compare"},
	} {
		now := c.now
		if c.what == "digest of a tensor" {
			now = c.old[:len(c.old)-2] + "zz"
		}
		changed := strings.Replace(text, c.old, now, 1)
		if changed == text && c.code != 0 {
			t.Fatalf("%s: nothing is changed: %s", c.what, text)
		}
		write(t, "changed.json", changed)
		for _, path := range [][]string{{"digest", "--check", "changed.json"}, {"digest", "--check", "changed.json", "model.safetensors"}} {
			if r := amn(t, nil, path...); r.code != c.code || !strings.Contains(r.out+r.err, c.has) {
				t.Errorf("%s: exit %d, %s%s", c.what, r.code, r.out, r.err)
			}
		}
	}
}

// A manifest that states a model again and again would have it read as often.
func TestAManifestThatListsAModelTwiceIsRefused(t *testing.T) {
	t.Chdir(workplace(t))
	if r := amn(t, nil, "digest", "-q", "-o", "m.json", "model.safetensors"); r.code != 0 {
		t.Fatal(r.err)
	}
	text := load(t, "m.json")
	for what, again := range map[string]string{"the same": text, "another spelling": strings.Replace(text, `"path":"`, `"path":"./`, 1)} {
		write(t, "again.json", text+again+again)
		if r := amn(t, nil, "digest", "--check", "again.json"); r.code != 2 || !strings.Contains(r.err, "twice") || strings.Count(r.out, "the same") != 1 {
			t.Errorf("%s: exit %d, %s%s", what, r.code, r.out, r.err)
		}
	}
}

// A manifest comes from where its models come from, and opens nothing outside of its folder.
func TestAManifestOpensNothingOutsideOfItsFolder(t *testing.T) {
	top := workplace(t)
	t.Chdir(top)
	if err := os.Mkdir("in", 0o777); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"out": "..", "file": "../model.safetensors"} {
		if err := os.Symlink(to, filepath.Join("in", name)); err != nil {
			t.Skip("no links here: ", err)
		}
	}
	if r := amn(t, nil, "digest", "-q", "-o", "m.json", "model.safetensors"); r.code != 0 {
		t.Fatal(r.err)
	}
	for _, path := range []string{"../model.safetensors", "x/../../model.safetensors", filepath.Join(top, "model.safetensors"), "out/model.safetensors", "file", "../none", "out"} {
		write(t, "in/m.json", strings.Replace(load(t, "m.json"), `"path":"model.safetensors"`, fmt.Sprintf(`"path":%q`, path), 1))
		r := amn(t, nil, "digest", "--check", "in/m.json")
		if r.code != 7 || !strings.Contains(r.err, "--outside") || strings.Contains(r.out, "the same") {
			t.Errorf("%s: exit %d, %s%s", path, r.code, r.out, r.err)
		}
		if r := amn(t, nil, "digest", "--check", "in/m.json", "--outside"); path != "../none" && path != "x/../../model.safetensors" && path != "out" && path != "file" && r.code != 0 {
			t.Errorf("%s, allowed: exit %d, %s%s", path, r.code, r.out, r.err)
		}
		if r := amn(t, nil, "digest", "--check", "in/m.json", "model.safetensors"); r.code != 0 {
			t.Errorf("%s, another named: exit %d, %s%s", path, r.code, r.out, r.err)
		}
	}
	// The caller may name a link; files that a model in a folder brings along may not be links.
	if r := amn(t, nil, "digest", "-q", "in/file"); r.code != 0 {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}

// A manifest of a folder has the index, by which loaders find the tensors; a file and a folder with
// only that file have the same manifest.
func TestAManifestHasTheIndex(t *testing.T) {
	t.Chdir(workplace(t))
	if r := amn(t, nil, "digest", "-q", "-o", "m.json", "sharded"); r.code != 0 {
		t.Fatal(r.err)
	}
	index := load(t, "sharded/model.safetensors.index.json")
	write(t, "sharded/model.safetensors.index.json", index+"\n")
	if r := amn(t, nil, "digest", "--check", "m.json"); r.code != 8 || !strings.Contains(r.out, "file model.safetensors.index.json differs") {
		t.Errorf("exit %d, %s%s", r.code, r.out, r.err)
	}
	copyFile(t, "alone/model.safetensors", "model.safetensors")
	if r := amn(t, nil, "digest", "-q", "-o", "one.json", "model.safetensors"); r.code != 0 {
		t.Fatal(r.err)
	}
	if r := amn(t, nil, "digest", "--check", "one.json", "alone"); r.code != 0 {
		t.Errorf("exit %d, %s%s", r.code, r.out, r.err)
	}
}

// A manifest that was made of a folder knows what came into it later; one of a file does not ask.
func TestAManifestOfAFolderReportsAddedFiles(t *testing.T) {
	t.Chdir(workplace(t))
	copyFile(t, "in/a.safetensors", "model.safetensors")
	copyFile(t, "in/sub/b.safetensors", "model.safetensors")
	index := load(t, "sharded/model.safetensors.index.json")
	for _, args := range []string{"-r -o deep.json in", "-o flat.json in", "-o file.json in/a.safetensors", "-o set.json sharded", "-o index.json sharded/model.safetensors.index.json", "-r -o in/own.json in"} {
		if r := amn(t, nil, append([]string{"hash", "-q"}, strings.Fields(args)...)...); r.code != 0 {
			t.Fatalf("%s: %s", args, r.err)
		}
		if r := amn(t, nil, "hash", "--check", strings.Fields(strings.TrimPrefix(args, "-r "))[1]); r.code != 0 {
			t.Errorf("%s: exit %d, %s%s", args, r.code, r.out, r.err)
		}
	}
	copyFile(t, "in/c.safetensors", "model.safetensors")
	write(t, "in/sub/evil.pt", "cos\nsystem\n(S'id'\ntR.")
	write(t, "sharded/config.json", "{}") // then the set is the model that transformers reads
	write(t, "sharded/pytorch_model.bin", "cos\nsystem\n(S'id'\ntR.")
	for _, c := range []struct {
		manifest string
		code     int
		has      string
		count    int
	}{
		{"deep.json", 8, "evil.pt: is not in the manifest", 2},
		{"in/own.json", 8, "evil.pt: is not in the manifest", 2},
		{"flat.json", 8, "c.safetensors: is not in the manifest", 1},
		{"file.json", 0, "the same", 0},
		{"set.json", 8, "pytorch_model.bin: is not in the manifest", 1},
		{"index.json", 0, "the same", 0},
	} {
		r := amn(t, nil, "hash", "--check", c.manifest)
		if r.code != c.code || !strings.Contains(r.out, c.has) || strings.Count(r.out, "is not in the manifest") != c.count {
			t.Errorf("%s: exit %d, %s%s", c.manifest, r.code, r.out, r.err)
		}
		if r := amn(t, nil, "hash", "--json", "--check", c.manifest); r.code != c.code || strings.Count(r.out, `"same":false`) != c.count {
			t.Errorf("%s as JSON: exit %d, %s%s", c.manifest, r.code, r.out, r.err)
		}
	}
	if load(t, "sharded/model.safetensors.index.json") != index {
		t.Error("the index was changed")
	}
	text := load(t, "deep.json")
	for what, change := range map[string][2]string{
		"a folder that does not hold the model": {`"folder":"in"`, `"folder":"sharded"`},
		"a folder and no recursive":             {`,"recursive":true`, ``},
		"no folder":                             {`"folder":"in",`, ``},
		"an empty folder":                       {`"folder":"in"`, `"folder":""`},
		"a number":                              {`"recursive":true`, `"recursive":1`},
	} {
		changed := strings.ReplaceAll(text, change[0], change[1])
		if changed == text {
			t.Fatal(what)
		}
		write(t, "changed.json", changed)
		if r := amn(t, nil, "hash", "--check", "changed.json"); r.code != 2 {
			t.Errorf("%s: exit %d, %s%s", what, r.code, r.out, r.err)
		}
	}
	write(t, "sub/changed.json", strings.ReplaceAll(text, `"folder":"in"`, `"folder":".."`))
	if r := amn(t, nil, "hash", "--check", "sub/changed.json"); r.code != 7 && r.code != 2 {
		t.Errorf("a folder outside: exit %d, %s%s", r.code, r.out, r.err)
	}
}

// A manifest is written only if everything was hashed; otherwise the old one stays.
func TestAManifestIsWholeOrAsItWas(t *testing.T) {
	t.Chdir(workplace(t))
	copyFile(t, "in/a.safetensors", "model.safetensors")
	copyFile(t, "two/a.safetensors", "model.safetensors")
	write(t, "two/b.safetensors", "junk")
	write(t, "bad/a.safetensors", "junk")
	if r := amn(t, nil, "hash", "-q", "-o", "good.json", "in"); r.code != 0 {
		t.Fatal(r.err)
	}
	good := load(t, "good.json")
	for args, code := range map[string]int{"bad": 5, "two": 5, "-r two": 5, "none": 2, "in none": 2, "none in": 2, "ollama:none": 2, "--timeout 1ns in": 6} {
		if r := amn(t, nil, append([]string{"hash", "-q", "-o", "new.json"}, strings.Fields(args)...)...); r.code != code || r.err == "" {
			t.Errorf("%s: exit %d, %s%s", args, r.code, r.out, r.err)
		}
		if _, err := os.Lstat("new.json"); err == nil {
			t.Fatalf("%s: a manifest is left: %.80q", args, load(t, "new.json"))
		}
		if r := amn(t, nil, append([]string{"hash", "-q", "-f", "-o", "good.json"}, strings.Fields(args)...)...); r.code != code {
			t.Errorf("%s, with -f: exit %d, %s%s", args, r.code, r.out, r.err)
		}
		if load(t, "good.json") != good {
			t.Fatalf("%s, with -f: the manifest is now %.80q", args, load(t, "good.json"))
		}
	}
	if list, err := filepath.Glob(".*amn-*"); err != nil || len(list) > 0 {
		t.Errorf("left: %v, %v", list, err)
	}
}

// Loaders follow a link to a folder elsewhere, and no manifest covers its files.
func TestAManifestOfAFolderCoversLinkedFolders(t *testing.T) {
	t.Chdir(workplace(t))
	for _, name := range []string{"in/sub/a.safetensors", "out/model.safetensors", "own/sub/a.safetensors"} {
		copyFile(t, name, "model.safetensors")
	}
	if r := amn(t, nil, "hash", "-q", "-r", "-o", "m.json", "in"); r.code != 0 {
		t.Fatal(r.err)
	}
	if err := os.Symlink("sub", "own/again"); err != nil {
		t.Skip("no links here: ", err)
	}
	if r := amn(t, nil, "hash", "-q", "-r", "-o", "own.json", "own"); r.code != 0 { // its files are hashed where they are
		t.Errorf("exit %d, %s%s", r.code, r.out, r.err)
	}
	if r := amn(t, nil, "hash", "--check", "own.json"); r.code != 0 {
		t.Errorf("exit %d, %s%s", r.code, r.out, r.err)
	}
	for _, link := range []string{"in/new", "in/sub/.hidden", "in/model.safetensors"} {
		to, err := filepath.Rel(filepath.Dir(link), "out")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
		if r := amn(t, nil, "hash", "--check", "m.json"); r.code != 8 || !strings.Contains(r.out, link+": is not in the manifest") {
			t.Errorf("%s: exit %d, %s%s", link, r.code, r.out, r.err)
		}
		if r := amn(t, nil, "hash", "-r", "-o", "new.json", "in"); r.code != 7 || !strings.Contains(r.err, "leads out of the folder") {
			t.Errorf("%s: exit %d, %s%s", link, r.code, r.out, r.err)
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
}
