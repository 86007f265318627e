package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the outputs that tutorials show")

// tutorial reports whether a page needs nothing but the program: its commands make every file
// that they read.
func tutorial(file string) bool {
	return strings.HasPrefix(file, "docs/tutorial-") || strings.HasPrefix(file, "docs/from-")
}

var fenced = regexp.MustCompile("(?ms)^```(sh|console)\n(.*?)^```")

// mark precedes the output of a command.
const mark = "\x1dcommand\n"

// slow is what is printed only if a job takes long, as on a busy machine.
var slow = regexp.MustCompile(`(?m)^(Took: .*|amn: [^\n]*: \d+%, .* left)\n`)

// A tutorial works in an empty folder, and prints what it shows.
func TestTutorialsShowWhatIsPrinted(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	for _, tool := range []string{"bash", "curl", "git", "python3"} {
		if _, err := exec.LookPath(tool); err != nil || runtime.GOOS == "windows" {
			t.Skipf("no %s, which the tutorials use", tool)
		}
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	bin := program(t, root)
	s, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	pages, shown := 0, 0
	for _, file := range s.order {
		if !tutorial(file) {
			continue
		}
		path := filepath.Join(root, filepath.FromSlash(file))
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		pages++
		shown += strings.Count(string(text), "\n$ ")
		t.Run(file, func(t *testing.T) {
			got := played(t, bin, string(text))
			switch {
			case got == string(text):
			case !*update:
				t.Errorf("%s does not show what its commands print (go test ./internal/site -run Tutorials -update rewrites it); they print\n%s", file, got)
			default:
				if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	if pages < 6 || shown < 20 {
		t.Errorf("%d tutorials with %d outputs", pages, shown)
	}
}

// played runs the blocks of a page in one empty folder and returns the page with the outputs of
// its sessions. A command of a session may fail, one of another block may not.
func played(t *testing.T, bin, text string) string {
	t.Helper()
	address := free(t)
	script := "set -uo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\nrc=0\n"
	for _, m := range fenced.FindAllStringSubmatch(text, -1) {
		if m[1] == "sh" {
			script += "set -e\n" + started(m[2], address) + "set +e\n"
			continue
		}
		for _, line := range sessions(m[2]) {
			script += "printf '" + mark[:len(mark)-1] + "\\n'\n(exit $rc)\n" + strings.ReplaceAll(line, "localhost:8080", address) + "\nrc=$?\n"
		}
		script += "printf '" + mark[:len(mark)-1] + "\\n'\n"
	}
	out, err := bash(t, bin, t.TempDir(), script+"exit 0\n")
	if err != nil {
		t.Fatalf("%v\n%s\nof\n%s", err, tail(out), script)
	}
	outputs := strings.Split(out, mark)[1:]
	shown := 0
	return fenced.ReplaceAllStringFunc(text, func(block string) string {
		m := fenced.FindStringSubmatch(block)
		if m[1] == "sh" {
			return block
		}
		body := ""
		for _, line := range sessions(m[2]) {
			body += "$ " + line + "\n" + strings.ReplaceAll(slow.ReplaceAllString(outputs[shown], ""), address, "localhost:8080")
			shown++
		}
		outputs = append(outputs[:shown], outputs[shown+1:]...) // of the commands between sessions
		return "```console\n" + body + "```"
	})
}

// sessions are the commands of a session.
func sessions(block string) []string {
	var lines []string
	for line := range strings.Lines(block) {
		if line, ok := strings.CutPrefix(line, "$ "); ok {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}
