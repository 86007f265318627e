package cli_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/cli"
)

// Outputs other than models replace neither an input nor another output, and leave no temporary
// file behind.
func TestOutputsReplaceNoInput(t *testing.T) {
	dir := workplace(t)
	t.Chdir(dir)
	if err := os.Link("model.safetensors", "hard"); err != nil {
		t.Fatal(err)
	}
	write(t, "bad.pem", "no key\n")
	before := files(t, dir)
	for _, args := range []string{
		"inspect --html model.safetensors model.safetensors",
		"inspect --html hard model.safetensors",
		"scan --attest model.safetensors --key key.pem model.safetensors",
		"scan --attest hard --key key.pem model.safetensors",
		"scan --attest key.pem --key key.pem model.safetensors",
		"scan --bom key.pem --attest model.att --key key.pem model.safetensors",
		"scan --bom one --attest ./one --key key.pem model.safetensors",
		"scan --bom one --output sarif=one model.safetensors",
		"scan --attest one --key key.pem --output sarif=one model.safetensors",
		"scan --output sarif=one --output junit=./one model.safetensors",
		"scan --output sarif=list.txt --files-from list.txt",
		"verify --output sarif=one --output json=one model.safetensors",
		"scan --bom models.json --attest model.att --key bad.pem model.safetensors",
	} {
		if r := amn(t, nil, strings.Fields(args)...); r.code != 2 {
			t.Errorf("amn %s: exit %d\n%s%s", args, r.code, r.out, r.err)
		}
		if after := files(t, dir); after != before {
			t.Fatalf("amn %s: the folder was\n%sand is\n%s", args, before, after)
		}
	}
}

// files lists the names and contents' beginnings below a folder.
func files(t *testing.T, dir string) string {
	t.Helper()
	var list strings.Builder
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		list.WriteString(path + " " + string(text[:min(len(text), 16)]) + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list.String()
}

// A page replaces an older one only once it is complete.
func TestAPageReplacesAnOlderOne(t *testing.T) {
	page := filepath.Join(t.TempDir(), "report.html")
	write(t, page, "older")
	model := filepath.Join(demo, "model.safetensors")
	if r := amn(t, nil, "inspect", "--html", page, model, filepath.Join(demo, "weights.npz")); r.code != 2 || load(t, page) != "older" {
		t.Errorf("two files: exit %d: %s", r.code, r.err)
	}
	if r := amn(t, nil, "inspect", "--html", page, model); r.code != 2 || load(t, page) != "older" {
		t.Errorf("without --force: exit %d: %s", r.code, r.err)
	}
	if r := amn(t, nil, "inspect", "-f", "--html", page, model); r.code != 2 || load(t, page) != "older" {
		t.Errorf("a file that is no page: exit %d: %s", r.code, r.err)
	}
	write(t, page, "")
	if r := amn(t, nil, "inspect", "-f", "--html", page, model); r.code != 0 || !strings.HasPrefix(load(t, page), "<!DOCTYPE html>") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}

// A flag that another one makes meaningless is an error: whoever gave it expects an effect.
func TestFlagsWithoutEffectAreErrors(t *testing.T) {
	dir := workplace(t)
	t.Chdir(dir)
	for _, args := range []string{
		"parse --metadata --tensor x model.safetensors",
		"parse --metadata --sort size model.safetensors",
		"parse --key general.name --pickle checkpoint.pt",
		"parse --pickle --tensor x checkpoint.pt",
		"parse --pickle --usage checkpoint.pt",
		"inspect --wire --html page.html tiny.gguf",
		"inspect --wire --verify tiny.gguf",
		"inspect --wire --context 8k tiny.gguf",
		"inspect --html page.html --usage tiny.gguf",
		"inspect --batch 4 tiny.gguf",
		"quantize --compare nf4 -o out.safetensors model.safetensors",
		"quantize --compare nf4 --to q4_k_m model.safetensors",
		"convert --to npz --raw-names model.safetensors",
		"convert --to gguf --quant q8_0 --cast-all tiny.gguf",
		"convert --to mlx --quant mlx_4 --mmproj model.safetensors",
		"convert --to mlx --quant mlx_4 --raw-names model.safetensors",
		"convert --to gguf --quant q8_0 --block-size 1,2,3,4 tiny.gguf",
		"quantize --to mlx_4 --block-size 1,2,3,4 model.safetensors",
	} {
		r := amn(t, nil, strings.Fields(args)...)
		if r.code != 2 || !strings.Contains(r.err, "--") {
			t.Errorf("amn %s: exit %d\n%.300s%s", args, r.code, r.out, r.err)
		}
	}
}

// A list of names that Windows wrote names no standard input, and a name that ends with a
// carriage return is kept where zero bytes end the names.
func TestNamesOfLists(t *testing.T) {
	dir := workplace(t)
	t.Chdir(dir)
	write(t, "list.txt", "-\r\n\r\nmodel.safetensors\r\n")
	if r := amn(t, strings.NewReader("cos\nsystem\n."), "scan", "--files-from", "list.txt"); strings.Contains(r.out, "standard input") || !strings.Contains(r.out, "model.safetensors") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	copyFile(t, "odd\r", "model.safetensors")
	write(t, "list.txt", "odd\r\x00")
	if r := amn(t, nil, "scan", "--files-from", "list.txt"); r.code != 0 {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
}

// A flag of one protocol has no effect on the other: tokens do not guard clamd's.
func TestFlagsOfTheOtherProtocolAreErrors(t *testing.T) {
	dir := workplace(t)
	t.Chdir(dir)
	ended, end := context.WithCancel(t.Context())
	end()
	for _, args := range []string{
		"serve --clamd 127.0.0.1:0 --tokens list.txt",
		"serve --clamd 127.0.0.1:0 --ui",
		"serve --clamd 127.0.0.1:0 --tls-cert key.pem --tls-key key.pem",
		"serve --listen 127.0.0.1:0 --root models",
	} {
		var out, err bytes.Buffer
		if code := cli.Main(ended, strings.Fields(args), cli.Stdio{In: strings.NewReader(""), Out: &out, Err: &err}); code != 2 {
			t.Errorf("amn %s: exit %d: %s", args, code, err.String())
		}
	}
}

// --force replaces a report by one of the same kind, and no file that is anything else.
func TestForceReplacesWhatTheProgramWrote(t *testing.T) {
	dir := workplace(t)
	t.Chdir(dir)
	out := t.TempDir()
	model := load(t, "model.safetensors")
	write(t, "evil.pkl", runsCode)
	for kind, args := range map[string]string{
		"sarif": "scan --output sarif=@ checkpoint.pt", "junit": "scan --output junit=@ model.safetensors", "html": "scan --output html=@ checkpoint.pt", "markdown": "verify --output markdown=@ model.safetensors",
		"github": "scan --output github=@ evil.pkl", "gitlab": "inspect --output gitlab=@ evil.pkl", "json": "scan --output json=@ model.safetensors",
		"baseline": "scan --output baseline=@ model.safetensors", "bom": "scan --bom @ model.safetensors", "attest": "scan --attest @ --key key.pem model.safetensors",
		"manifest": "hash -o @ model.safetensors", "page": "inspect --html @ model.safetensors",
	} {
		path := filepath.Join(out, kind)
		run := func(more ...string) result {
			return amn(t, nil, append(strings.Fields(strings.ReplaceAll(args, "@", path)), more...)...)
		}
		if r := run(); r.code == 2 {
			t.Fatalf("%s: exit %d: %s", kind, r.code, r.err)
		}
		first := load(t, path)
		if r := run(); r.code != 2 || !strings.Contains(r.err, "--force replaces it") {
			t.Errorf("%s, without --force: exit %d: %s", kind, r.code, r.err)
		}
		write(t, path, first+"\n")
		if r := run("-f"); r.code == 2 || load(t, path) == first+"\n" {
			t.Errorf("%s, with --force: exit %d: %s", kind, r.code, r.err)
		}
		for _, text := range []string{"my thesis", "<!DOCTYPE html><title>My page</title>", `{"secret": "x"}`, "[1, 2]\n", model} {
			write(t, path, text)
			if r := run("-f"); r.code != 2 || load(t, path) != text {
				t.Errorf("%s over %.20q: exit %d: %s", kind, text, r.code, r.err)
			}
		}
	}
	if got := files(t, out); strings.Contains(got, "partial") {
		t.Error(got)
	}
}

// An output in a judged folder takes --force; then it is listed as not judged, and the exit
// code says so, whether the file was there or not.
func TestAnOutputInAJudgedFolderIsNotJudged(t *testing.T) {
	dir := workplace(t)
	t.Chdir(dir)
	before := files(t, "models")
	for _, c := range []struct{ args, flag string }{
		{"scan %s models", "--output sarif="}, {"scan %s .", "--output json=./"}, {"scan %s models/", "--bom "}, {"scan %s --key key.pem models", "--attest "},
		{"inspect -r %s models", "--output junit="}, {"verify -r %s models", "--output json="}, {"inspect %s models/tiny", "--html "},
	} {
		name := "models/tiny/new.json"
		args := strings.Replace(c.args, "%s", c.flag+name, 1)
		r := amn(t, nil, strings.Fields(args)...)
		if r.code != 2 || !strings.Contains(r.err, "which is judged") {
			t.Errorf("amn %s: exit %d\n%s%s", args, r.code, r.out, r.err)
		}
		if after := files(t, "models"); after != before {
			t.Fatalf("amn %s: it was\n%sand is\n%s", args, before, after)
		}
		r = amn(t, nil, append([]string{strings.Fields(args)[0], "-f"}, strings.Fields(args)[1:]...)...)
		if strings.HasPrefix(c.args, "scan %s .") {
			if r.code < 5 { // the folder has hostile files too
				t.Errorf("amn %s: exit %d", args, r.code)
			}
		} else if r.code != 5 {
			t.Errorf("amn -f %s: exit %d\n%s%s", args, r.code, r.out, r.err)
		}
		text := r.out + r.err
		if c.flag == "--html " {
			text = load(t, name)
		}
		if !strings.Contains(strings.Join(strings.Fields(text), " "), "an output of this run") {
			t.Errorf("amn -f %s: %s", args, text)
		}
		os.Remove(name)
		if after := files(t, "models"); after != before {
			t.Fatalf("amn -f %s: it was\n%sand is\n%s", args, before, after)
		}
	}
}

// A page says what a scan of the folder refuses, and is written only once that is known.
func TestAPageIsWrittenAfterTheVerdict(t *testing.T) {
	dir := workplace(t)
	t.Chdir(dir)
	for name, evil := range map[string]string{"beside": "evil.pkl", "below": "sub/evil.bin"} {
		copyFile(t, filepath.Join(name, "model.safetensors"), "model.safetensors")
		if r := amn(t, nil, "inspect", "--html", name+".html", name); r.code != 0 || !strings.Contains(load(t, name+".html"), `"accepted":true`) {
			t.Errorf("%s: exit %d: %s", name, r.code, r.err)
		}
		write(t, filepath.Join(name, evil), runsCode)
		if r := amn(t, nil, "inspect", "-f", "--html", name+".html", name); r.code != 7 || !strings.Contains(load(t, name+".html"), `"accepted":false`) || !strings.Contains(load(t, name+".html"), evil) {
			t.Errorf("%s: exit %d: %s", name, r.code, r.err)
		}
	}
	copyFile(t, "several/a.safetensors", "model.safetensors")
	write(t, "several/b.pkl", runsCode)
	copyFile(t, "several/c.gguf", "tiny.gguf")
	if r := amn(t, nil, "inspect", "--html", "several.html", "several"); r.code != 2 {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	if _, err := os.Stat("several.html"); err == nil {
		t.Error("a page about a part of the folder")
	}
}

// --force onto a folder removes nothing but the model that is replaced.
func TestForceRemovesOnlyTheModelOfAFolder(t *testing.T) {
	dir := workplace(t)
	t.Chdir(dir)
	for _, args := range []string{"split --max-tensors 2 -o out tiny.gguf", "convert --to safetensors --max-shard-size 8KB -o out model.safetensors", "dequantize -o out llama-fp8"} {
		os.RemoveAll("out")
		run := func() result { return amn(t, nil, append(strings.Fields(args), "-f")...) }
		if r := run(); r.code != 0 {
			t.Fatalf("amn %s: exit %d: %s", args, r.code, r.err)
		}
		if r := run(); r.code != 0 {
			t.Errorf("amn %s, again: exit %d: %s", args, r.code, r.err)
		}
		for _, name := range []string{"thesis.txt", "secrets.json", "optimizer.pt", "backup.gguf", "model-00001-of-00009.safetensors", "sub/notes.md", ".git/HEAD"} {
			path := filepath.Join("out", name)
			write(t, path, oldModel)
			before := files(t, "out")
			r := run()
			if r.code != 2 || !strings.Contains(r.err, strings.Split(name, "/")[0]) {
				t.Errorf("amn -f %s with %s: exit %d: %s", args, name, r.code, r.err)
			}
			if after := files(t, "."); !strings.Contains(after, before) || strings.Contains(after, "partial") {
				t.Errorf("amn -f %s with %s: it was\n%sand is\n%s", args, name, before, after)
			}
			if err := os.RemoveAll(filepath.Join("out", strings.Split(name, "/")[0])); err != nil {
				t.Fatal(err)
			}
		}
	}
	model := load(t, "model.safetensors")
	if r := amn(t, nil, "hash", "-f", "-o", "model.safetensors", "model.safetensors"); r.code != 2 || load(t, "model.safetensors") != model {
		t.Errorf("a manifest over its model: exit %d: %s", r.code, r.err)
	}
}
