package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/policies"
)

// asked returns what the program answers a shell: words, and whether file names are valid there.
func asked(t *testing.T, line ...string) (words []string, files string) {
	t.Helper()
	var out bytes.Buffer
	if code := Main(context.Background(), append([]string{completeCommand}, line...), Stdio{Out: &out, Err: io.Discard}); code != 0 {
		t.Fatalf("%q: exit %d", line, code)
	}
	for l := range strings.Lines(out.String()) {
		if f, ok := strings.CutPrefix(l, ":"); ok {
			return words, strings.TrimSpace(f)
		}
		word, _, _ := strings.Cut(l, "\t")
		words = append(words, strings.TrimSpace(word))
	}
	t.Fatalf("%q: no last line in %q", line, out.String())
	return nil, ""
}

func TestCompletionOffersTheWordsThatAreValidNext(t *testing.T) {
	model := "../testdata/demo/tiny.gguf"
	for _, c := range []struct {
		name  string
		line  []string
		words []string
		files string
	}{
		{"a command", []string{"sc"}, []string{"scan"}, ""},
		{"an alias", []string{"quan"}, []string{"quantize"}, ""},
		{"a command below another", []string{"limits", ""}, []string{"show"}, ""},
		{"a command to be helped with", []string{"help", "inf"}, []string{"info"}, ""},
		{"a flag", []string{"inspect", "--veri"}, []string{"--verify"}, ""},
		{"a flag of all commands", []string{"scan", "--qui"}, []string{"--quiet"}, ""},
		{"a flag before its command", []string{"--js"}, []string{"--json"}, ""},
		{"a value of a list", []string{"parse", "--sort", ""}, []string{"file", "name", "size"}, ""},
		{"a value behind =", []string{"parse", "--sort=n"}, []string{"name"}, ""},
		{"a profile or a file", []string{"inspect", "--limits", "s"}, []string{"server", "strict"}, "any"},
		{"a target of its own command", []string{"convert", "--to", "np"}, []string{"npz"}, ""},
		{"a target of a folder", []string{"convert", "--to", "h"}, []string{"hf"}, ""},
		{"a target that a table has", []string{"quantize", "--to", "mlx_mx"}, []string{"mlx_mxfp4", "mlx_mxfp8"}, ""},
		{"a mix", []string{"forget", "--to", "q4_k_"}, []string{"q4_k_m", "q4_k_s"}, ""},
		{"a scheme", []string{"inspect", "--scheme", "AW"}, []string{"AWQ"}, ""},
		{"a file", []string{"inspect", "x"}, nil, "models"},
		{"a file or a scheme", []string{"view", "ol"}, []string{"ollama:"}, "models"},
		{"a second file", []string{"inspect", "a", ""}, nil, "models"},
		{"no third file", []string{"remember", "a", "b", ""}, nil, ""},
		{"no flag behind --", []string{"inspect", "--", "--verify"}, nil, "models"},
		{"a file to write", []string{"convert", "-o", ""}, nil, "any"},
		{"a size, of which nothing is known", []string{"inspect", "--max-total", ""}, nil, ""},
		{"a tensor of the model", []string{"parse", model, "--tensor", "blk"}, []string{"blk.0.attn_q.weight", "blk.0.attn_norm.weight"}, ""},
		{"a tensor of nothing", []string{"parse", "/dev/null", "--tensor", ""}, nil, ""},
		{"a shell", []string{"completion", "z"}, []string{"zsh"}, ""},
		{"PowerShell's empty word", []string{"limits", `""`}, []string{"show"}, ""},
		{"no such command", []string{"nothing", "x"}, nil, ""},
		{"no such flag", []string{"inspect", "--nothing=x"}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			words, files := asked(t, c.line...)
			if diff := cmp.Diff(c.words, words); diff != "" {
				t.Error(diff)
			}
			if files != c.files {
				t.Errorf("files %q, want %q", files, c.files)
			}
		})
	}
}

// A name of a tensor ends on a command line: one that a shell acts on is not offered.
func TestNamesThatAShellActsOnAreNotOffered(t *testing.T) {
	for _, name := range []string{"", "a b", "$(id)", "`id`", "a;b", "a'b", `a"b`, "a\nb", "a\x1b[0m", "a|b", "a&", "~a", "*", "a[0]", "é"} {
		if isShellSafe(name) {
			t.Errorf("%q is offered", name)
		}
	}
	if !isShellSafe("model.layers.0.self_attn.q_proj.weight") {
		t.Error("an honest name is not offered")
	}
}

// The scripts run in the shells that are here.
func TestShellsComplete(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	dir := t.TempDir()
	amn := filepath.Join(dir, "amn")
	if out, err := exec.Command("go", "build", "-o", amn, "./amn").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"b c.gguf", "notes.txt", "strict$(id)"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for shell, c := range map[string]struct{ script, want string }{
		"bash": {`source <(amn completion bash)
			for line in "amn sca" "amn inspect --limits serv" "amn inspect --limits stri" "amn inspect --limits = stri" "amn inspect b"; do
				COMP_WORDS=($line); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); COMPREPLY=(); _amn 2>/dev/null; echo "${COMPREPLY[@]}"
			done; complete -p amn`, "scan\nserver\nstrict strict\\$\\(id\\)\nstrict strict\\$\\(id\\)\nb c.gguf\ncomplete -F _amn amn\n"},
		"fish": {`amn completion fish | source
			for line in "amn sca" "amn inspect --limits=stri" "amn inspect b"; complete -C $line | string replace -r '\t.*' ''; end; true`,
			"scan\n--limits=strict\nb c.gguf\n"},
		"zsh": {`autoload -Uz compinit; compinit -u -D; source <(amn completion zsh); echo ${_comps[amn]}`, "_amn\n"},
	} {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skipf("%s is not here", shell)
			}
			flag := map[string]string{"bash": "--norc", "fish": "--no-config", "zsh": "-f"}[shell]
			cmd := exec.Command(path, flag, "-c", c.script)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+dir)
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(out)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMistypedCommandsAreGuessedAt(t *testing.T) {
	names := commandNames(program(new(policies.Globals)))
	for word, want := range map[string]string{
		"verison": `, did you mean "version"?`, "inpsect": `, did you mean "inspect"?`, "scna": `, did you mean "scan"?`, "dequantise": `, did you mean "dequantize"?`,
		"foo": "", "x": "", "": "", strings.Repeat("a", 500): "",
	} {
		if got := fault.Nearest(word, names); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

// A flag is guessed at like a command, among those that the command takes.
func TestMistypedFlagsAreGuessedAt(t *testing.T) {
	for line, want := range map[string]string{
		"dequantize --to bf61 x":  `--to: "bf61" is not one of bf16, f16, f32, did you mean "bf16"?`,
		"convert --treads 2 x":    `unknown flag --treads, did you mean "--threads"?`,
		"inspect --jsno x":        `unknown flag --jsno, did you mean "--json"?`,
		"quantize --timeotu 1s x": `unknown flag --timeotu, did you mean "--timeout"?`,
		"inspect --treads 2 x":    `unknown flag --treads (`,
		"inspect --zzzzzz x":      `unknown flag --zzzzzz (`,
	} {
		var out, errs strings.Builder
		code := Main(t.Context(), strings.Fields(line), Stdio{In: strings.NewReader(""), Out: &out, Err: &errs})
		if code != 2 || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: exit %d, %s", line, code, errs.String())
		}
	}
}

// The plain words are the names; those of the program before still work.
func TestCommandsHavePlainNamesAndOldOnes(t *testing.T) {
	root := program(new(policies.Globals))
	for old, name := range map[string]string{"remember": "dequantize", "forget": "quantize", "digest": "hash", "info": "inspect"} {
		c := childNamed(root, old)
		if c == nil || c.Name != name {
			t.Errorf("%s is not %s", old, name)
			continue
		}
		if text := helpText(c, helpWidth, false); !strings.Contains(text, "also: amn "+old) {
			t.Errorf("the help of %s does not say %s", name, old)
		}
	}
}

// No text of a command is an instruction to the program that sets the page.
func TestPagesForMan(t *testing.T) {
	root := program(new(policies.Globals))
	for _, c := range append(root.Leaves(true), root) {
		page := manPage(c)
		for line := range strings.Lines(page) {
			macro, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			known := []string{".TH", ".SH", ".B", ".I", ".TP", ".PP", ".nf", ".fi", ".RS", ".RE", ".BR"}
			if strings.HasPrefix(line, ".") && !slices.Contains(known, macro) || strings.HasPrefix(line, "'") {
				t.Errorf("%s: %s", commandPath(c), line)
			}
		}
		for _, f := range c.Flags {
			if !isLimit(f) && !strings.Contains(page, roff("--"+f.Name)) {
				t.Errorf("%s: no --%s", commandPath(c), f.Name)
			}
		}
	}
	if got := roff(`.so \fI-x`); got != `\&.so \efI\-x` {
		t.Errorf("%s", got)
	}
}
