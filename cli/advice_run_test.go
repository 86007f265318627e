package cli_test

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/effort"
)

// An advice is a message that names a flag or a command, or what to do first, the command line that prints it, and those
// that do what it says.
type advice struct {
	says, bad string
	good      []string
	test      string // another test that does all this, as package.Test
	notRun    bool   // not run, for the reason on the line
	line      int
}

// advices reads testdata/advice.list.
func advices(t *testing.T) (list []advice) {
	t.Helper()
	for i, line := range strings.Split(load(t, "testdata/advice.list"), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, " | ")
		a := advice{says: parts[0], line: i + 1}
		if name, ok := strings.CutPrefix(parts[1], "test "); ok && len(parts) == 2 {
			a.test = name
		} else if _, ok := strings.CutPrefix(parts[1], "not run: "); ok && len(parts) == 2 {
			a.notRun = true
		} else if len(parts) == 3 {
			a.bad, a.good = parts[1], strings.Split(parts[2], " ; ")
		} else {
			t.Fatalf("line %d has %d columns", i+1, len(parts))
		}
		list = append(list, a)
	}
	return list
}

// named matches flags and commands in a text, and what is to be done first.
var named = regexp.MustCompile(`--[a-z][a-z0-9-]*[a-z0-9]|\bamn [a-z][a-z-]+|\b(decode|write|give|merge|download)\b[^:;,]* first\b|\bgive (a GGUF file|the base)\b`)

// apart are the files whose texts are no messages: help, manuals and completions, which tests of
// their own run, and the flags of programs that amn starts.
var apart = []string{"cli/help.go", "cli/man.go", "cli/manual.go", "cli/completion.go", "cli/completion_shells.go", "cli/internal/serve/isolate.go", "cli/internal/serve/reread.go", "cli/meant.go"}

// outside are folders that are no part of the program.
var outside = []string{"asm", "corpus", "crosscheck", "fuzz", "remote", "web", "hub", "adapters", "python", "editors", "deploy", "docs", "examples", "release", "testdata", "internal/arch", "internal/site", "internal/corpustest"}

// texts returns the messages of the module that give an advice, with their positions:
// arguments of calls that make an error or a text, except those that are only a flag. An option of
// the library is written as {Option}.
func texts(t *testing.T) map[string]string {
	t.Helper()
	found, set := map[string]string{}, token.NewFileSet()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		rel := filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))
		switch {
		case err != nil:
			return err
		case d.IsDir() && (slices.Contains(outside, rel) || strings.HasPrefix(d.Name(), ".") && path != ".."):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") || slices.Contains(apart, rel):
			return nil
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), "go.mod")); err == nil && filepath.Dir(path) != ".." {
			return filepath.SkipDir
		}
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			var args []ast.Expr
			switch n := n.(type) {
			case *ast.Field:
				return false // the help of a flag
			case *ast.FuncDecl:
				if n.Recv != nil && (n.Name.Name == "Help" || n.Name.Name == "Examples") {
					return false // the help of a command, and its examples, which TestExamples runs
				}
			case *ast.CallExpr:
				args = n.Args
			case *ast.CompositeLit:
				if a, ok := n.Type.(*ast.ArrayType); ok {
					if of, ok := a.Elt.(*ast.Ident); ok && of.Name == "commandSpec" {
						return false // the help of all commands
					}
				}
				args = n.Elts
			case *ast.KeyValueExpr:
				args = []ast.Expr{n.Value}
			case *ast.AssignStmt:
				args = n.Rhs
			case *ast.ReturnStmt:
				args = n.Results
			case *ast.ValueSpec:
				args = n.Values
			}
			for _, arg := range args {
				text, option := literal(arg), ""
				if strings.HasPrefix(text, "amn ") && !strings.Contains(text, "; ") || strings.Contains(text, "| amn ") {
					continue // an example of help, which TestExamples runs
				}
				if text == "" || strings.HasPrefix(strings.TrimSpace(text), "--") && len(strings.Fields(text)) == 1 {
					continue
				}
				if strings.HasPrefix(text, "<!DOCTYPE html>") {
					continue // a page, whose style has names such as --text
				}
				for _, other := range args {
					if s, ok := other.(*ast.SelectorExpr); ok && strings.HasPrefix(s.Sel.Name, "Option") && len(s.Sel.Name) > len("Option") && s.Sel.Name != "OptionsOf" {
						option = " {" + s.Sel.Name + "}"
					}
				}
				if option != "" && strings.Contains(text, "%s") || named.MatchString(text) {
					found[text+option] = set.Position(arg.Pos()).String()
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// literal returns the text of an expression of literals.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, _ := strconv.Unquote(e.Value)
			return text
		}
	case *ast.BinaryExpr:
		return literal(e.X) + literal(e.Y)
	}
	return ""
}

// Every message that gives an advice has a line in testdata/advice.list.
func TestEveryAdviceHasACase(t *testing.T) {
	found, list := texts(t), advices(t)
	if len(found) < 100 {
		t.Fatalf("only %d messages were found", len(found))
	}
	used, notRun := map[int]bool{}, 0
	for _, text := range slices.Sorted(maps.Keys(found)) {
		has := false
		for _, a := range list {
			if strings.Contains(text, a.says) {
				has, used[a.line] = true, true
			}
		}
		if !has {
			t.Errorf("%s: no case for %q", found[text], text)
		}
	}
	for _, a := range list {
		if !used[a.line] {
			t.Errorf("testdata/advice.list:%d: no message says %q", a.line, a.says)
		}
		if a.notRun {
			notRun++
		}
		if a.test == "" {
			continue
		}
		folder, name, _ := strings.Cut(a.test, ".")
		files, _ := filepath.Glob(filepath.Join("..", folder, "*_test.go"))
		if !slices.ContainsFunc(files, func(f string) bool { return strings.Contains(load(t, f), "\nfunc "+name+"(t *testing.T) {") }) {
			t.Errorf("testdata/advice.list:%d: %s has no %s", a.line, folder, name)
		}
	}
	if notRun > mostNotRun {
		t.Errorf("%d lines are not run, more than %d", notRun, mostNotRun)
	}
}

// mostNotRun is the number of lines of testdata/advice.list that are not run. It only falls: a new
// message has a case.
const mostNotRun = 2

// Following the advice of each message works.
func TestAdviceIsFollowed(t *testing.T) {
	made := adviceFiles(t)
	for _, a := range advices(t) {
		if a.test != "" || a.notRun || !effort.Some(a.line) {
			continue
		}
		t.Run(strconv.Itoa(a.line), func(t *testing.T) {
			commands := append([]string{a.bad}, a.good...)
			var dirs []string
			for range commands {
				dirs = append(dirs, t.TempDir())
				linkTree(t, dirs[len(dirs)-1], made)
			}
			for i, command := range commands {
				t.Chdir(dirs[i])
				var r result
				for _, one := range strings.Split(command, " && ") {
					if strings.HasPrefix(one, "serve") && i > 0 {
						service(t, "amn "+one)
						continue
					}
					r = amn(t, nil, strings.Fields(one)...)
				}
				switch said := strings.Join(strings.Fields(r.err+r.out), " "); {
				case i == 0 && !strings.Contains(said, plain(a.says)):
					t.Errorf("amn %s: exit %d, no word of %q\n%s%s", command, r.code, a.says, r.out, r.err)
				case i > 0 && (r.code != 0 || strings.Contains(said, plain(a.says))):
					t.Errorf("amn %s: exit %d\n%s%s", command, r.code, r.out, r.err)
				}
			}
		})
	}
}

// plain is the longest part of a message without verbs.
func plain(says string) string {
	longest := ""
	for _, part := range regexp.MustCompile(`%[^ ]|\{Option[A-Za-z]+\}|  | :`).Split(says, -1) {
		if part = strings.TrimSpace(part); len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}

// adviceFiles is a folder with what the commands of testdata/advice.list read.
func adviceFiles(t *testing.T) string {
	t.Helper()
	dir := workplace(t)
	attention := map[string][2]int{"model.layers.0.self_attn.q_proj": {128, 128}, "model.layers.0.self_attn.k_proj": {128, 128}, "model.layers.0.self_attn.v_proj": {128, 128}}
	experts := maps.Clone(attention)
	for e := range 2 {
		at := "model.layers.0.mlp.experts." + strconv.Itoa(e) + "."
		experts[at+"gate_proj"], experts[at+"up_proj"], experts[at+"down_proj"] = [2]int{192, 128}, [2]int{192, 128}, [2]int{128, 192}
	}
	for name, from := range map[string]string{
		"odd":     matricesIn(t, `{"model_type": "nobodys", "architectures": ["NobodysForCausalLM"]}`, attention),
		"mixture": matricesIn(t, `{"model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"]}`, experts),
		"llama":   matricesIn(t, `{"model_type": "llama", "architectures": ["LlamaForCausalLM"]}`, attention),
		"normed":  matricesIn(t, `{"model_type": "clip_text_model", "architectures": ["CLIPTextModel"]}`, map[string][2]int{"text_model.encoder.layers.0.mlp.fc1": {64, 64}, "text_model.embeddings.token_embedding": {64, 64}}),
		"whole":   wholeQwen3(t),
		"target":  spokenLlama(t, "1e-06"),
		"draft":   draftOfLlama(t),
		"unet":    matricesIn(t, `{"_class_name": "UNet2DConditionModel"}`, attention),
		"breaks":  matricesIn(t, `{"model_type": "falcon_mamba", "architectures": ["FalconMambaForCausalLM"]}`, map[string][2]int{"backbone.layers.0.mixer.in_proj": {128, 128}}),
		"tied":    matricesIn(t, `{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "tie_word_embeddings": true}`, map[string][2]int{"model.embed_tokens": {128, 128}, "lm_head": {128, 128}, "model.layers.0.self_attn.o_proj": {128, 128}}),
		"pair":    matricesIn(t, `{"model_type": "llama"}`, attention),
	} {
		copyTree(t, filepath.Join(dir, name), from)
	}
	copyFile(t, filepath.Join(dir, "pair", "b.safetensors"), filepath.Join(dir, "pair", "model.safetensors"))
	body := build(`"a.q_proj.weight":{"dtype":"BF16","shape":[64,64],"data_offsets":[0,8192]}`, `"b.q_proj.weight":{"dtype":"BF16","shape":[64,64],"data_offsets":[8192,16384]}`) + "\xff\x7f" + strings.Repeat("\x00\x3c", 8191)
	write(t, filepath.Join(dir, "nan", "model.safetensors"), body)
	write(t, filepath.Join(dir, "empty", "README.md"), "no model\n")
	write(t, filepath.Join(dir, "scales.safetensors"), build(`"a.weight":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}`, `"b.weight_scale":{"dtype":"F8_E8M0","shape":[8],"data_offsets":[8,16]}`)+strings.Repeat("\x00", 16))
	write(t, filepath.Join(dir, "architecture.json"), `{"general.architecture": "llama"}`)
	copyFile(t, filepath.Join(dir, "nothing.pt"), filepath.Join("..", "corpus", "valid", "pth", "root-empty.pt"))
	copyFile(t, filepath.Join(dir, "optimizer.pt"), filepath.Join("..", "testdata", "pth", "zero", "optimizer.pt"))
	if r := amn(t, nil, "hash", "-o", filepath.Join(dir, "one.json"), filepath.Join(dir, "model.safetensors")); r.code != 0 {
		t.Fatal(r.err)
	}
	write(t, filepath.Join(dir, "doubled.json"), strings.Repeat(load(t, filepath.Join(dir, "one.json")), 2))
	pipeline(t, dir)
	adviceModels(t, dir)
	quantizedGPT2(t, dir)
	write(t, filepath.Join(dir, "models", "beside.json"), load(t, filepath.Join(demo, "recipe.json")))
	write(t, filepath.Join(dir, "models", "below.json"), `{"merge_method": "linear", "models": [{"model": "../model.safetensors", "parameters": {"weight": 1}}, {"model": "sharded", "parameters": {"weight": 1}}]}`)
	return dir
}

// adviceModels writes models with which something is wrong that one flag mends.
func adviceModels(t *testing.T, dir string) {
	t.Helper()
	must := func(args ...string) {
		t.Helper()
		if r := amn(t, nil, args...); r.code != 0 {
			t.Fatalf("%v: exit %d: %s", args, r.code, r.err)
		}
	}
	at := func(name ...string) string { return filepath.Join(append([]string{dir}, name...)...) }
	must("convert", "-q", "--to", "npz", "-o", at("stored.npz"), at("model.safetensors"))
	deflate(t, at("deflated.npz"), at("stored.npz"))
	at8 := "base_model.model.model.layers.0.self_attn.q_proj.lora_"
	write(t, at("adapter8", "adapter_config.json"), `{"peft_type": "LORA", "r": 2, "lora_alpha": 2, "target_modules": ["q_proj"]}`)
	write(t, at("adapter8", "adapter_model.safetensors"), build(`"`+at8+`A.weight":{"dtype":"F32","shape":[2,32],"data_offsets":[0,256]}`, `"`+at8+`B.weight":{"dtype":"F32","shape":[32,2],"data_offsets":[256,512]}`)+strings.Repeat("\x00\x00\x80\x3e", 128))
	must("edit", "-q", "--set", "llama.block_count:i32=1", "--set", "llama.context_length:i32=32", "--set", "llama.embedding_length:i32=32", "--set", "llama.feed_forward_length:i32=64", "-o", at("findings.gguf"), at("tiny.gguf"))
	for name, config := range map[string]string{
		"several": `{"model_type": "llama", "architectures": ["LlamaForCausalLM", "LlamaModel"]}`,
		"llava":   `{"model_type": "llava", "architectures": ["LlavaForConditionalGeneration"], "text_config": {"model_type": "llama"}}`,
	} {
		copyTree(t, at(name), at("llama"))
		write(t, at(name, "config.json"), config)
	}
	copyTree(t, at("unfinished"), matricesIn(t, `{"model_type": "llama", "architectures": ["LlamaForCausalLM"]}`, llamaLayer("model.layers.0.")))
	body := load(t, at("unfinished", "model.safetensors"))
	write(t, at("unfinished", "model.safetensors"), body[:len(body)-4]+"\x00\x3c\xc0\x7f") // a NaN in v_proj
	copyTree(t, at("short"), matricesIn(t, `{"model_type": "llama"}`, map[string][2]int{"q_proj": {64, 64}, "model.layers.0.self_attn.q_proj": {64, 64}, "model.layers.0.self_attn.o_proj": {64, 64}}))
	copyTree(t, at("pretokenized"), spokenLlama(t, "1e-06"))
	shapes := llamaLayer("model.layers.0.")
	maps.Copy(shapes, map[string][2]int{"model.embed_tokens": {262, 128}, "lm_head": {262, 128}, "model.norm": {128}})
	copyTree(t, at("tekken"), matricesIn(t, `{"model_type": "llama", "architectures": ["LlamaForCausalLM"], `+strings.Replace(llamaSizes, `"vocab_size": 3`, `"vocab_size": 262`, 1)+`, "rms_norm_eps": 1e-06}`, shapes))
	if err := os.Remove(at("pretokenized", "tokenizer.model")); err != nil {
		t.Fatal(err)
	}
	var bytesOfTekken []string
	for b := range 256 {
		bytesOfTekken = append(bytesOfTekken, fmt.Sprintf(`{"rank": %d, "token_bytes": %q, "token_str": null}`, b, base64.StdEncoding.EncodeToString([]byte{byte(b)})))
	}
	for name, vocabulary := range map[string]string{
		"tekken": `{"config": {"pattern": ".", "version": "v11", "default_vocab_size": 262, "default_num_special_tokens": 6},
			"vocab": [` + strings.Join(bytesOfTekken, ",") + `], "special_tokens": [{"rank": 0, "token_str": "<unk>"}, {"rank": 1, "token_str": "<s>"}, {"rank": 2, "token_str": "</s>"}, {"rank": 3, "token_str": "<pad>"}]}`,
		"pretokenized": `{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2}, "merges": []}}`,
	} {
		write(t, at(name, map[string]string{"tekken": "tekken.json", "pretokenized": "tokenizer.json"}[name]), vocabulary)
	}
	write(t, at("template.json"), `{"tokenizer.chat_template": "x"}`)
	write(t, at("pre.json"), `{"tokenizer.ggml.pre": "qwen2"}`)
	write(t, at("repository", "model.safetensors"), emptyTensor)
	must("scan", "-q", "--attest", at("repository.json"), "--key", at("key.pem"), at("repository"))
	write(t, at("repository", ".git", "vocab.txt"), "a\n")
}

// deflate writes an archive again, whose members are compressed.
func deflate(t *testing.T, to, from string) {
	t.Helper()
	r, err := zip.OpenReader(from)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, f := range r.File {
		body, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		w, err := z.Create(f.Name)
		if err == nil {
			_, err = io.Copy(w, body)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, to, out.String())
}

// linkTree links the files of a folder into another, where a command may replace or remove them. Copies
// of them all would take most of the time of the tests.
func linkTree(t *testing.T, to, from string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		at, err := filepath.Rel(from, path)
		switch at = filepath.Join(to, at); {
		case err != nil:
			return err
		case d.IsDir():
			return os.MkdirAll(at, 0o777)
		}
		return os.Link(path, at)
	})
	if err != nil {
		t.Fatal(err)
	}
}
