package cli_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/cli"
)

var update = flag.Bool("update", false, "rewrite what the tests compare with")

// runAsProgram makes this test binary the program, for tests that need a process
// of its own: signals, closed pipes.
const runAsProgram = "AMN_TEST_RUN"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "judge-one" { // a child of serve --isolate
		os.Exit(cli.Main(context.Background(), os.Args[1:], cli.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, OwnProcess: true}))
	}
	if os.Getenv(runAsProgram) != "" {
		os.Exit(cli.Main(context.Background(), os.Args[1:], cli.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
	}
	// Child processes inherit ignored signals: under nohup no program would end by SIGHUP. A signal
	// that somebody waits for has its default there.
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	code := m.Run()
	if theProgram.dir != "" {
		os.RemoveAll(theProgram.dir)
	}
	os.Exit(code)
}

// theProgram is built once, when the first test asks for it; TestMain removes it.
var theProgram struct {
	once sync.Once
	dir  string
	err  error
}

// built is a folder with the program in it.
func built(t *testing.T) string {
	t.Helper()
	p := &theProgram
	p.once.Do(func() {
		if p.dir, p.err = os.MkdirTemp("", "amn-test-"); p.err != nil {
			return
		}
		if out, err := exec.Command("go", "build", "-o", filepath.Join(p.dir, "amn"), "./amn").CombinedOutput(); err != nil {
			p.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	if p.err != nil {
		t.Fatal(p.err)
	}
	return p.dir
}

// result is what a run of the program left.
type result struct {
	out, err string
	code     int
}

// amn runs the program in this process.
func amn(t testing.TB, in io.Reader, args ...string) result {
	t.Helper()
	return wide(t, 0, in, args...)
}

// wide runs the program as on a terminal with this number of columns.
func wide(t testing.TB, columns int, in io.Reader, args ...string) result {
	t.Helper()
	var out, err bytes.Buffer
	if in == nil {
		in = strings.NewReader("")
	}
	code := cli.Main(t.Context(), args, cli.Stdio{In: in, Out: &out, Err: &err, Columns: columns})
	return result{out.String(), err.String(), code}
}

// run runs it with streams of the caller's.
func run(t testing.TB, in io.Reader, out, err io.Writer, args ...string) int {
	t.Helper()
	return cli.Main(t.Context(), args, cli.Stdio{In: in, Out: out, Err: err})
}

// demo is the folder of the model that the documents show.
const demo = "../testdata/demo"

// workplace is a folder with the files that help and transcripts name.
func workplace(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	copyTree(t, dir, demo)
	copyTree(t, filepath.Join(dir, "models", "tiny"), filepath.Join(demo, "sharded"))
	copyFile(t, filepath.Join(dir, "models", "weights.npz"), filepath.Join(demo, "weights.npz"))
	copyFile(t, filepath.Join(dir, "upload.npz"), filepath.Join(demo, "weights.npz"))
	write(t, filepath.Join(dir, "pointer.safetensors"), "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 132735\n")
	write(t, filepath.Join(dir, "page.gguf"), "<!DOCTYPE html>\n<html><title>Sign in</title>\n")
	write(t, filepath.Join(dir, "empty.npz"), "")
	write(t, filepath.Join(dir, "key.pem"), testKey)
	write(t, filepath.Join(dir, "key.pub"), testPublicKey)
	write(t, filepath.Join(dir, "list.txt"), "model.safetensors\nkeys.json\n")
	write(t, filepath.Join(dir, "keys.json"), `{"general.name": "his", "general.tags": ["a", "b"], "llama.block_count": {"type": "u32", "value": 1}}`+"\n")
	for _, name := range []string{"lightning.pt", "whole.pt"} {
		copyFile(t, filepath.Join(dir, name), checkpoints+name)
	}
	model := load(t, filepath.Join(demo, "model.safetensors"))
	write(t, filepath.Join(dir, "cut.safetensors"), model[:len(model)-100])
	write(t, filepath.Join(dir, "renamed.npz"), model)
	return dir
}

func copyTree(t testing.TB, to, from string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

func copyFile(t testing.TB, to, from string) {
	t.Helper()
	write(t, to, load(t, from))
}

func load(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t testing.TB, path, data string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestHelpAndVersionWorkAsInOtherPrograms(t *testing.T) {
	for _, c := range [][2]string{
		{"help", "--help"}, {"help remember", "remember --help"}, {"help limits show", "limits show --help"},
		{"--version", "version"}, {"-V", "version"}, {"--version --json", "version --json"}, {"help nothing", "nothing --help"},
	} {
		got, want := amn(t, nil, strings.Fields(c[0])...), amn(t, nil, strings.Fields(c[1])...)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" || got.out+got.err == "" {
			t.Errorf("amn %s: want -, got +:\n%s", c[0], diff)
		}
	}
}

// On a terminal no word of a verdict, of a difference or of a path is lost, and
// names in a table keep both of their ends.
func TestTerminalsOfAnyWidth(t *testing.T) {
	dir := workplace(t)
	t.Chdir(dir)
	write(t, "evil.pkl", "cos\nsystem\n(S'echo a long text that is called with'\ntR.")
	words := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	for _, columns := range []int{40, 80} {
		for _, args := range [][]string{
			{"scan", "evil.pkl", "models"}, {"diff", "model.safetensors", "tiny.gguf"}, {"formats"},
			{"remember", "--force", "-o", strings.Repeat("long ", 30), "tiny.gguf"}, {"verify", "models"},
		} {
			whole, narrow := amn(t, nil, args...), wide(t, columns, nil, args...)
			if diff := cmp.Diff(words(whole.out), words(narrow.out)); diff != "" && args[0] != "formats" {
				t.Errorf("%v in %d columns: want -, got +:\n%s", args, columns, diff)
			}
			for line := range strings.Lines(narrow.out) {
				if n := utf8.RuneCountInString(line) - 1; n > columns && strings.Contains(strings.TrimSpace(line), " ") && !strings.HasPrefix(line, "Output") {
					t.Errorf("%v: %d columns in %q", args, n, line)
				}
			}
		}
		r := wide(t, columns, nil, "parse", "--tensor", "layers.?.attn.*weight", "model.safetensors")
		if rows := strings.Count(r.out, " BF16   ["); rows != 4 || strings.Count(r.out, "weight ") != rows {
			t.Errorf("in %d columns:\n%s", columns, r.out)
		}
	}
}

// Tables of numbers fit a narrow terminal: values that all rows share are omitted, and no number is
// cut.
func TestNarrowTablesOfNumbers(t *testing.T) {
	t.Chdir(workplace(t))
	for _, args := range [][]string{{"stats", "model.safetensors"}, {"quantize", "--compare", "nf4,int8,fp8_dynamic", "model.safetensors"}} {
		for _, columns := range []int{60, 80} {
			r := wide(t, columns, nil, args...)
			if r.code != 0 {
				t.Fatal(r)
			}
			for line := range strings.Lines(r.out) {
				if n := utf8.RuneCountInString(line) - 1; n > columns || args[0] != "stats" && strings.Contains(line, "…") {
					t.Errorf("%v: %d columns in %q", args, n, line)
				}
			}
		}
	}
}

// A pair of keys that protects nothing.
const (
	testKey = `-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEILO/RVPdinPqFPDheohSxxXHH+FI06UxBlGXL4UfgGF6
-----END PRIVATE KEY-----
`
	testPublicKey = `-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAeEXq/EOgSTYU/N2A3HXO7Rhlgdd0V2sfIpnQ6VoG2eo=
-----END PUBLIC KEY-----
`
)
