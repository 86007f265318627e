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

// Whatever a command writes besides a model, it replaces neither a file that it reads nor
// another of its outputs, and leaves no temporary file behind.
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
	if r := amn(t, nil, "inspect", "--html", page, model); r.code != 0 || !strings.HasPrefix(load(t, page), "<!DOCTYPE html>") {
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
