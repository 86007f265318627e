//go:build unix

package cli_test

import (
	"cmp"
	"crypto/sha1"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate/attest"
)

const evilPickle = "cposix\nsystem\n(S'id'\ntR."

// A statement made before a change of the folder does not hold after it: a file of each kind that
// is added, removed, swapped, renamed, linked, or called by other letters. Accepted changes are
// listed, each with a reason.
func TestChangesOfAFolderInvalidateItsStatement(t *testing.T) {
	base := aModel(t)
	bench := newBench(t)
	// accepted are the changes that no loader of the folder can see.
	accepted := map[string]string{
		"removed .gitattributes": "git's files are left behind where a copy is used, and nothing names this one",
		"removed .git/config":    "as git's folder is, which has this file alone",
		"added empty/":           "a folder without files",
		"removed empty/":         "a folder without files",
		"renamed empty/":         "a folder without files",
		"folded empty/":          "a folder without files",
		"added model.sig":        "a signature that nothing names",
		"removed model.sig":      "a signature that nothing names",
	}
	// Model Signing covers nothing of git.
	unsigned := []string{"added", "swapped", "renamed", "linked", "folded"}
	changes := map[string]func(at func(string) string, name string) error{
		"as it was": func(func(string) string, string) error { return nil },
		"added": func(at func(string) string, name string) error {
			switch {
			case strings.HasSuffix(name, "/"):
				return os.Mkdir(at("other/"), 0o777)
			case name == ".gitattributes":
				return os.WriteFile(at(".gitignore"), []byte("*.tmp\n"), 0o666)
			case name == "model.sig":
				return nil // it was added
			case name == "pipe":
				return syscall.Mkfifo(at("pipe"), 0o666)
			case name == "outside":
				return os.Symlink(bench.key, at("outside"))
			}
			return os.WriteFile(at(name)+"2"+filepath.Ext(name), []byte(tensorOf("n", 9)), 0o666)
		},
		"removed": func(at func(string) string, name string) error { return os.Remove(at(name)) },
		"swapped": func(at func(string) string, name string) error {
			if strings.HasSuffix(name, "/") {
				return os.WriteFile(at(name+"x.json"), []byte("{}"), 0o666)
			}
			os.Remove(at(name))
			if name == ".gitattributes" {
				return os.WriteFile(at(name), []byte("*.x text\n"), 0o666)
			}
			return os.WriteFile(at(name), []byte(evilPickle), 0o666)
		},
		"renamed": func(at func(string) string, name string) error { return os.Rename(at(name), at(name)+"2") },
		"linked": func(at func(string) string, name string) error {
			if err := os.WriteFile(at(".git/evil"), []byte(evilPickle), 0o666); err != nil {
				return err
			}
			if err := os.Remove(at(name)); err != nil {
				return err
			}
			if strings.HasSuffix(name, "/") {
				return os.Symlink(".git", at(name))
			}
			return os.Symlink(at(".git/evil"), at(name))
		},
		"folded": func(at func(string) string, name string) error {
			dir, file := filepath.Split(at(strings.TrimSuffix(name, "/")))
			return os.Rename(filepath.Join(dir, file), filepath.Join(dir, strings.ToUpper(file)))
		},
	}
	kinds := append(slices.Sorted(maps.Keys(base)), "model.sig", "pipe", "outside")
	for _, by := range []string{"attestation", "model.sig"} {
		start := t.TempDir()
		files := maps.Clone(base)
		if by == "model.sig" {
			delete(files, "alias") // a signature of Model Signing covers no link to a folder
		}
		layFiles(t, start, files)
		if by == "attestation" {
			if ok, r := bench.attest(t, start); !ok {
				t.Fatalf("nothing attested: %d %s", r.code, r.err)
			}
		} else {
			write(t, bench.statement, modelSigning(t, start))
		}
		count := 0
		for _, kind := range kinds {
			if kind == "alias" && by == "model.sig" {
				continue
			}
			for _, what := range slices.Sorted(maps.Keys(changes)) {
				if (kind == "pipe" || kind == "outside") && what != "added" || kind == "alias" && what == "added" || what == "as it was" && kind != "model.sig" {
					continue
				}
				root := t.TempDir()
				layFiles(t, root, files)
				if kind == "model.sig" {
					write(t, filepath.Join(root, kind), load(t, bench.statement))
				}
				at := func(name string) string { return filepath.Join(root, filepath.FromSlash(name)) }
				if err := changes[what](at, strings.TrimSuffix(kind, "/")+strings.Repeat("/", strings.Count(kind[len(kind)-1:], "/"))); err != nil {
					t.Fatalf("%s %s: %v", what, kind, err)
				}
				want := 8
				if _, ok := accepted[what+" "+kind]; ok || what == "as it was" {
					want = 0
				}
				if by == "model.sig" && (kind == ".git/config" && slices.Contains(unsigned, what) || kind == ".gitattributes" && (what == "added" || what == "swapped")) {
					want = 0
				}
				r := bench.verify(t, root)
				if count++; r.code != want {
					t.Errorf("%s: %s %s: exit %d, not %d: %s%s", by, what, kind, r.code, want, r.out, r.err)
				}
			}
		}
		t.Logf("%s: %d changes", by, count)
	}
}

// A statement about a folder whose loader reaches what belongs to git covers that as well, and no
// signature that leaves it out holds. Names that lead out of the folder are not attested.
func TestAStatementCoversEverythingALoaderReaches(t *testing.T) {
	bench := newBench(t)
	signature := signedBy(t, []attest.File{{Name: "x"}})
	index := func(shard string) string { return `{"weight_map":{"w":"` + shard + `"}}` }
	for what, files := range map[string]map[string]string{
		"an index that names model.sig":              {"model.safetensors.index.json": index("model.sig"), "model.sig": tensorOf("w", 1)},
		"an index that names it by an escape":        {"model.safetensors.index.json": index(`model\u002esig`), "model.sig": tensorOf("w", 1)},
		"an index that names a signature":            {"model.safetensors.index.json": index("model.sig"), "model.sig": signature},
		"a bare model.sig that is a model":           {"model.sig": tensorOf("w", 1)},
		"a bare model.sig that is a text":            {"model.sig": "{}"},
		"a signature with one more member":           {"model.sig": strings.Replace(signature, "{", `{"auto_map":"x",`, 1)},
		"a signature with a second text behind it":   {"model.sig": signature + "{}"},
		"a model.sig that is a link":                 {"model.sig": "-> config.json"},
		"a link into .git":                           {".git/evil/model.safetensors": tensorOf("w", 1), "unet": "-> .git/evil"},
		"a link to .github":                          {".github/x.json": "{}", "unet": "-> .github"},
		"a link in a folder":                         {".git/evil/config.json": "{}", "a/b/unet": "-> ../../.git/evil"},
		"a text that names a file of .git":           {".git/vocab.txt": "a\n", "tokenizer_config.json": `{"vocab_file":".git/vocab.txt"}`},
		"one by an escape":                           {".git/vocab.txt": "a\n", "tokenizer_config.json": `{"vocab_file":"\u002egit\/vocab.txt"}`},
		"one with a backslash":                       {".git/vocab.txt": "a\n", "tokenizer_config.json": `{"vocab_file":".\\.GIT\\vocab.txt"}`},
		"one from a folder":                          {".git/vocab.txt": "a\n", "sub/tokenizer_config.json": `{"vocab_file":"../.git/vocab.txt"}`},
		"one in YAML":                                {".git/vocab.txt": "a\n", "recipe.yaml": "file: \"\\x2egit/vocab.txt\"\n"},
		"one in XML":                                 {".git/vocab.txt": "a\n", "model.xml": "<net><data file=\"&#46;git/vocab.txt\"/></net>\n"},
		"a folder of a pipeline by the name .git":    {".git/config.json": "{}", "model_index.json": `{".git":["diffusers","UNet2DModel"]}`},
		"a text that names .gitattributes":           {".gitattributes": "a\n", "tokenizer_config.json": `{"vocab_file":".gitattributes"}`},
		"a .gitattributes that is no text":           {".gitattributes": "\xff\xfe\x00"},
		"a text that names the folder of GitHub":     {".github/x.json": "{}", "config.json": `{"_name_or_path":"./.github"}`},
		"a name of .git behind 300 KB":               {".git/vocab.txt": "a\n", "config.json": `{"a":"` + strings.Repeat("x", 300_000) + `","b":".git/vocab.txt"}`},
		"the YAML of a README":                       {".git/data.csv": "a\n", "README.md": "---\nconfigs:\n- data_files: .git/data.csv\n---\n# A model\n"},
		"a name in YAML over two lines":              {".git/vocab.txt": "a\n", "recipe.yaml": "file: \".g\\\n  it/vocab.txt\"\n"},
		"a name in TOML over two lines":              {".git/vocab.txt": "a\n", "recipe.toml": "file = \"\"\".g\\  \n  it/vocab.txt\"\"\"\n"},
		"a name in JSON that is YAML":                {".git/vocab.txt": "a\n", "sub/config.json": "{\"file\": \".g\\\n  it/vocab.txt\"}"},
		"a name in Base64":                           {".git/vocab.txt": "a\n", "recipe.yml": "file: !!binary LmdpdC92b2NhYi50eHQ=\n"},
		"a name in Base64 by another tag":            {".git/vocab.txt": "a\n", "recipe.yml": "%TAG !x! tag:yaml.org,2002:\n---\nfile: !x!binary LmdpdC92b2NhYi50eHQ=\n"},
		"a name in CDATA":                            {".git/vocab.txt": "a\n", "model.xml": "<net><file>.g<![CDATA[it/vocab.txt]]></file></net>\n"},
		"a name around a comment":                    {".git/vocab.txt": "a\n", "model.xml": "<net><file>.g<!-- x -->it/vocab.txt</file></net>\n"},
		"a name by an entity":                        {".git/vocab.txt": "a\n", "model.xml": "<!DOCTYPE net [<!ENTITY a \".g\">]><net><file>&a;it/vocab.txt</file></net>\n"},
		"a name by variables":                        {".git/vocab.txt": "a\n", "recipe.yaml": "a: .g\nb: it\nfile: ${a}${b}/vocab.txt\n"},
		"a name by a variable":                       {".git/vocab.txt": "a\n", "recipe.yaml": "b: it\nfile: .g${b}/vocab.txt\n"},
		"a name by variables in variables":           {".git/vocab.txt": "a\n", "recipe.yaml": "file: ${a.${b}}${c}/vocab.txt\n"},
		"a name by variables of INI":                 {".git/vocab.txt": "a\n", "recipe.ini": "[x]\nb = it\nfile = .g%(b)s/vocab.txt\n"},
		"a name in texts of protobuf":                {".git/vocab.txt": "a\n", "config.pbtxt": "name: \"\"\nfile: \".g\" \"it/vocab.txt\"\n"},
		"a name in the YAML of a README":             {".git/data.csv": "a\n", "README.md": "---\ndata_files: \".g\\\n it/data.csv\"\n---\n"},
		"a module outside":                           {"modules.json": `[{"path":"../evil"}]`},
		"the folder above":                           {"modules.json": `[{"path":".."}]`},
		"the base of an adapter outside":             {"adapter_config.json": `{"base_model_name_or_path":"../other"}`},
		"a component outside":                        {"model_index.json": `{"../evil":["diffusers","UNet2DModel"]}`},
		"a vocabulary outside":                       {"tokenizer_config.json": `{"vocab_file":"../evil/vocab.txt"}`},
		"a vocabulary by an escape":                  {"tokenizer_config.json": `{"vocab_file":"\u002e./evil/vocab.txt"}`},
		"a vocabulary outside by a way in":           {"tokenizer_config.json": `{"vocab_file":"x/../../evil/vocab.txt"}`},
		"a module of a router":                       {"0_Router/router_config.json": `{"types":{"../../evil":"x.Y"}}`},
		"a base that may count from elsewhere":       {"sub/config.json": `{"a":"../evil"}`},
		"a Modelfile":                                {"Modelfile": "FROM ../evil.gguf\n"},
		"a recipe":                                   {"recipe.yaml": "file: ../evil\n"},
		"an absolute path that exists":               {"config.json": fmt.Sprintf(`{"_name_or_path":%q}`, filepath.Dir(bench.key))},
		".. behind a link":                           {"a/b/l": "-> ../..", "unet/config.json": "{}", "config.json": `{"a":"a/b/l/../evil"}`},
		"a folder by the name of a text of git":      {".gitignore/x.json": "{}"},
		"a folder by that of another":                {".gitattributes/x.json": "{}"},
		"a link by that of another":                  {".gitattributes": "-> config.json"},
		"a link by that of the folder of git":        {".git": "-> unet", "unet/config.json": "{}"},
		"a pattern":                                  {".git/vocab.txt": "a\n", "sub/config.json": `{"vocab_file":".g*/vocab.txt"}`},
		"a pattern of letters":                       {".git/vocab.txt": "a\n", "sub/config.json": `{"vocab_file":".gi[s-u]/vocab.txt"}`},
		"a pattern for any folder":                   {".git/vocab.txt": "a\n", "recipe.yaml": "file: '*/vocab.txt'\n"},
		"variables of a shell":                       {".git/vocab.txt": "a\n", "recipe.yaml": "a: .g\nb: it\nfile: $a$b/vocab.txt\n"},
		"fields of Python":                           {".git/vocab.txt": "a\n", "sub/config.json": `{"a":".g","b":"it","vocab_file":"{a}{b}/vocab.txt"}`},
		"a mark that nobody knows":                   {".git/vocab.txt": "a\n", "sub/config.json": `{"vocab_file":".g^^it/vocab.txt"}`},
		"a short name of Windows":                    {".git/vocab.txt": "a\n", "sub/config.json": `{"vocab_file":"GIT~1/vocab.txt"}`},
		"a dot at the end":                           {".git/vocab.txt": "a\n", "sub/config.json": `{"vocab_file":".git./vocab.txt"}`},
		"a letter without width":                     {".git/vocab.txt": "a\n", "sub/config.json": `{"vocab_file":".g\u200eit/vocab.txt"}`},
		"a text of UTF-16 that names a file of .git": {".git/vocab.txt": "a\n", "notes.txt": "\xff\xfe.\x00g\x00i\x00t\x00/\x00v\x00"},
	} {
		root := t.TempDir()
		all := map[string]string{"model.safetensors": tensorOf("w", 1), "config.json": `{"hidden_size":8}`}
		maps.Copy(all, files)
		if _, ok := files["model.safetensors.index.json"]; ok {
			delete(all, "model.safetensors")
		}
		layFiles(t, root, all)
		if ok, r := bench.attest(t, root); ok {
			bench.coversGit(t, what, root, files)
		} else if r.code == 0 {
			t.Errorf("%s: exit 0, and no statement", what)
		}
		// A signature by another signer with Model Signing's own list of exclusions.
		write(t, bench.statement, modelSigning(t, root))
		if r := bench.verify(t, root); r.code != 8 {
			t.Errorf("%s: the signature: exit %d: %s%s", what, r.code, r.out, r.err)
		}
	}
}

// Harmless texts in a clone are attested: joined words in prose, code and JSON that cannot become
// an excluded name. The same texts without .git may join, until there is one.
func TestAHubsCloneIsAttested(t *testing.T) {
	bench := newBench(t)
	root := t.TempDir()
	index := "DIRC\x00\x00\x00\x02\x00\x00\x00\x00"
	sum := sha1.Sum([]byte(index))
	layFiles(t, root, map[string]string{
		".git/index": index + string(sum[:]), ".git/objects/ab/" + strings.Repeat("c", 38): "\x78\x01\x4b\xca\xc9\x4f\x52\x30\x34\x67\xa8\x56\xca\xc8\x4c\x49\x49\xcd\x8b\x2f\xce\xac\x4a\x55\xb2\xb2\xa8\x05\x00\x6a\x07\x08\x5c",
		"model.safetensors": tensorOf("w", 1), "settings.json": `{"a":"![CDATA[ ${x}_y","b":"x\\\n"}`, ".git/config": "[core]\n", ".git/HEAD": "ref\n", ".gitattributes": "*.bin filter=lfs\n", ".gitignore": "*.tmp\n",
		"README.md": "---\nlicense: mit\n---\n# A model\n\n    pip install \\\n      x\n<!-- a comment -->see ${HOME}${X}\n", "net.prototxt": "name: \"\"\ninput: \"a\"\ninput: \"b\"\n", "run.sh": "a \\\n b\n", "a.py": "x = 'a' \\\n 'b'\n",
		"train.yaml": "dir: ${root}/out\nname: ${model}_v2-${size}\nx: model-${size}\nmore: |\n  a\n  b\n", "net.svg": "<?xml version=\"1.0\"?>\n<!-- a net -->\n<svg>\n  <!-- x -->\n  <a b=\"c\"/>\n</svg>\n",
	})
	if ok, r := bench.attest(t, root); !ok {
		t.Fatalf("not attested: %d %s", r.code, r.err)
	}
	if r := bench.verify(t, root); r.code != 0 {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
	folded := t.TempDir()
	layFiles(t, folded, map[string]string{"model.safetensors": tensorOf("w", 1), "recipe.yaml": "file: \".g\\\n  it/vocab.txt\"\n"})
	if ok, r := bench.attest(t, folded); !ok {
		t.Fatalf("not attested: %d %s", r.code, r.err)
	}
	write(t, filepath.Join(folded, ".git/vocab.txt"), "a\n")
	if r := bench.verify(t, folded); r.code != 8 || !strings.Contains(r.out+r.err, ".git/vocab.txt") {
		t.Errorf("a .git was added: exit %d: %s%s", r.code, r.out, r.err)
	}
	if r := bench.verify(t, folded, "--except-git"); r.code != 8 || !strings.Contains(r.out+r.err, "recipe.yaml") {
		t.Errorf("a .git was added that is not asked for: exit %d: %s%s", r.code, r.out, r.err)
	}
}

// Files that appear outside of a folder after its statement do not matter, nor do names inside the
// folder, names of other machines, and words of a vocabulary. An absolute name is looked up again
// when a statement is verified.
func TestNamesThatStayInTheFolderAreAttested(t *testing.T) {
	bench := newBench(t)
	root := filepath.Join(t.TempDir(), "root")
	away := filepath.Join(filepath.Dir(root), "home/model")
	layFiles(t, root, map[string]string{
		"model.safetensors": tensorOf("w", 1), "adapter_config.json": fmt.Sprintf(`{"base_model_name_or_path":%q}`, away), "sub/settings.json": `{"a":"../model.safetensors","b":"."}`,
		"config.json": fmt.Sprintf(`{"_name_or_path":%q,"sep":"/"}`, root), "encoder.json": `{"..":1,"../":2}`, "README.md": "---\nlicense: mit\n---\nsee ../x\n", "NOTICE": "../x\n",
	})
	if ok, r := bench.attest(t, root); !ok {
		t.Fatalf("not attested: %d %s", r.code, r.err)
	}
	if r := bench.verify(t, root); r.code != 0 {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
	write(t, filepath.Join(away, "config.json"), "{}")
	if r := bench.verify(t, root); r.code != 8 || !strings.Contains(r.out+r.err, "adapter_config.json") || !strings.Contains(r.out+r.err, "base_model_name_or_path") || !strings.Contains(r.out+r.err, away) {
		t.Errorf("a path that came into being: exit %d: %s%s", r.code, r.out, r.err)
	}
}

// Something other than a text replaces an excluded file before the statement is verified.
func TestAFolderNamedLikeAFileOfGitIsCovered(t *testing.T) {
	bench := newBench(t)
	root := t.TempDir()
	layFiles(t, root, map[string]string{"model.safetensors": tensorOf("w", 1)})
	if ok, r := bench.attest(t, root); !ok {
		t.Fatalf("not attested: %d %s", r.code, r.err)
	}
	for _, name := range []string{".gitignore", ".gitattributes"} {
		write(t, filepath.Join(root, name, "model.pkl"), evilPickle)
		if r := bench.verify(t, root); r.code != 8 {
			t.Errorf("%s: exit %d: %s%s", name, r.code, r.out, r.err)
		}
		os.RemoveAll(filepath.Join(root, name))
	}
	if err := syscall.Mkfifo(filepath.Join(root, ".github"), 0o666); err != nil {
		t.Fatal(err)
	}
	if r := bench.verify(t, root); r.code != 8 {
		t.Errorf("a pipe: exit %d: %s%s", r.code, r.out, r.err)
	}
}

// A special file, or a link out of the folder, is not attested in the first place.
func TestLinksOutOfAFolderAreNotAttested(t *testing.T) {
	bench := newBench(t)
	for what, add := range map[string]func(root string) error{
		"a pipe":                 func(root string) error { return syscall.Mkfifo(filepath.Join(root, "pipe"), 0o666) },
		"a link out":             func(root string) error { return os.Symlink(bench.key, filepath.Join(root, "link")) },
		"a link to nowhere":      func(root string) error { return os.Symlink("nowhere", filepath.Join(root, "link")) },
		"a link to a folder out": func(root string) error { return os.Symlink(filepath.Dir(bench.key), filepath.Join(root, "link")) },
		"a link to a pipe": func(root string) error {
			return cmp.Or(syscall.Mkfifo(filepath.Join(root, "z"), 0o666), os.Symlink("z", filepath.Join(root, "link")))
		},
	} {
		for _, more := range [][]string{nil, {"--unlooked", "report"}} {
			root := t.TempDir()
			write(t, filepath.Join(root, "model.safetensors"), tensorOf("w", 1))
			if err := add(root); err != nil {
				t.Fatal(err)
			}
			os.Remove(bench.statement)
			r := amn(t, nil, append([]string{"scan", "-q", "--attest", bench.statement, "--key", bench.key, root}, more...)...)
			if _, err := os.Stat(bench.statement); err == nil || r.code == 0 {
				t.Errorf("%s, %q: exit %d: %s", what, more, r.code, r.err)
			}
		}
	}
}

// Only the exact name of the statement is excluded.
func TestOnlyTheStatementItselfIsExcluded(t *testing.T) {
	bench := newBench(t)
	for _, link := range []func(string, string) error{os.Symlink, os.Link} {
		root := t.TempDir()
		write(t, filepath.Join(root, "model.safetensors"), tensorOf("w", 1))
		bench.statement = filepath.Join(t.TempDir(), "model.att")
		if ok, r := bench.attest(t, root); !ok {
			t.Fatal(r.err)
		}
		inside := filepath.Join(root, "model.att")
		write(t, inside, load(t, bench.statement))
		bench.statement = inside
		if r := bench.verify(t, root); r.code != 0 {
			t.Errorf("exit %d: %s", r.code, r.err)
		}
		if err := link(inside, filepath.Join(root, "added_tokens.json")); err != nil {
			t.Fatal(err)
		}
		if r := bench.verify(t, root); r.code != 8 {
			t.Errorf("exit %d: %s", r.code, r.out)
		}
	}
}

// A signature that leaves out more than Model Signing does by itself holds only where nothing
// of that is there.
func TestASignatureWithMoreExclusionsIsRefused(t *testing.T) {
	bench := newBench(t)
	root := t.TempDir()
	layFiles(t, root, map[string]string{"model.safetensors": tensorOf("w", 1), "unet/config.json": "{}"})
	write(t, bench.statement, modelSigning(t, root, "unet", "logs"))
	if r := bench.verify(t, root); r.code != 8 || !strings.Contains(strings.Join(strings.Fields(r.err), " "), `leaves out "unet/config.json"`) {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	if err := os.RemoveAll(filepath.Join(root, "unet")); err != nil {
		t.Fatal(err)
	}
	if r := bench.verify(t, root); r.code != 0 {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}

// A file that makes its loader open others is attested only together with them.
func TestAFileThatOpensOthersIsOnlyAttestedWithThem(t *testing.T) {
	bench := newBench(t)
	root := t.TempDir()
	layFiles(t, root, map[string]string{"model.safetensors.index.json": `{"weight_map":{"w":"a.safetensors"}}`, "a.safetensors": tensorOf("w", 1)})
	for _, path := range []string{filepath.Join(root, "model.safetensors.index.json"), filepath.Join(demo, "split", splitName(t))} {
		if ok, r := bench.attest(t, path); ok || r.code != 2 || !strings.Contains(r.err, "name the folder") {
			t.Errorf("%s: exit %d: %s", path, r.code, r.err)
		}
	}
}

// splitName returns the first file of the split model.
func splitName(t *testing.T) string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(demo, "split", "*.gguf"))
	if err != nil || len(list) == 0 {
		t.Fatal(err)
	}
	return filepath.Base(list[0])
}
