package cli_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A transcript is what a person would see: "$ command" lines, and below each
// what it prints, standard output before standard error. The commands are amn
// with its arguments, cat FILE | amn, "amn ... < FILE", "amn ... > FILE" and
// echo $?.
type transcript struct {
	t    *testing.T
	last int // exit code of the latest command
}

// run runs one command line.
func (s *transcript) run(line string) string {
	s.t.Helper()
	if line == "echo $?" {
		return fmt.Sprintln(s.last)
	}
	var in io.Reader
	words := split(s.t, line)
	if len(words) > 3 && words[0] == "cat" && words[2] == "|" {
		in = strings.NewReader(load(s.t, words[1]))
		words = words[3:]
	}
	var to string
	if n := len(words) - 2; n > 0 && words[n] == "<" {
		f, err := os.Open(words[n+1])
		if err != nil {
			s.t.Fatal(err)
		}
		defer f.Close()
		in, words = f, words[:n]
	} else if n > 0 && words[n] == ">" {
		to, words = words[n+1], words[:n]
	}
	if words[0] == "go" && len(words) > 2 && words[2] == "./cli/amn" {
		words = words[2:]
	} else if words[0] != "amn" {
		s.t.Fatalf("%q is not a command of a transcript", line)
	}
	r := amn(s.t, in, words[1:]...)
	s.last = r.code
	if to != "" {
		write(s.t, to, r.out)
		r.out = ""
	}
	return took.ReplaceAllString(r.out+r.err, "")
}

// took is the line that says how long a job took, which is printed only on a busy machine.
var took = regexp.MustCompile(`(?m)^Took: .*\n`)

// split cuts a line into words, single quotes and all.
func split(t *testing.T, line string) []string {
	t.Helper()
	var words []string
	word, quoted, in := "", false, false
	for _, r := range line {
		switch {
		case r == '\'':
			quoted, in = !quoted, true
		case r == ' ' && !quoted:
			if in {
				words = append(words, word)
			}
			word, in = "", false
		default:
			word, in = word+string(r), true
		}
	}
	if quoted {
		t.Fatalf("open quote in %q", line)
	}
	if in {
		words = append(words, word)
	}
	return words
}

// replay runs the commands of a text and returns the text as it should be.
func (s *transcript) replay(text string) string {
	s.t.Helper()
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "$ "):
			out.WriteString(line + "\n" + s.run(line[2:]))
		case strings.HasPrefix(line, "# "):
			out.WriteString("\n" + line + "\n")
		}
	}
	return strings.TrimPrefix(out.String(), "\n")
}

func compare(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		write(t, path, got)
		return
	}
	if want := load(t, path); want != got {
		t.Errorf("%s is not what the program prints (go test ./cli -update rewrites it)\n%s", path, firstDifference(want, got))
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("line %d\nwant %q\ngot  %q", i+1, w[i], g[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

// Every file of testdata is a session with the program.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			path := filepath.Join(here, file)
			text := load(t, path)
			t.Chdir(workplace(t))
			got := (&transcript{t: t}).replay(text)
			compare(t, path, got)
		})
	}
}

var console = regexp.MustCompile("(?s)```console\n(.*?)```\n")

// The sessions that README and the guides show are real: they run in a copy of
// the files that the repository has for them.
func TestDocumentsShowWhatIsPrinted(t *testing.T) {
	docs, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("AMN_STATE", t.TempDir())
	seen := 0
	for _, name := range []string{"README.md", "docs/jobs.md"} {
		path := filepath.Join(docs, name)
		text := load(t, path)
		dir := t.TempDir() // some write files
		copyTree(t, filepath.Join(dir, "testdata", "demo"), filepath.Join(docs, "testdata", "demo"))
		t.Chdir(dir)
		got := console.ReplaceAllStringFunc(text, func(block string) string {
			seen++
			return "```console\n" + (&transcript{t: t}).replay(console.FindStringSubmatch(block)[1]) + "```\n"
		})
		compare(t, path, got)
	}
	if seen == 0 {
		t.Error("no console blocks")
	}
}

// The Go program that README shows is the example that go test runs.
func TestReadmesProgramIsAnExample(t *testing.T) {
	readme := load(t, "../README.md")
	_, program, ok := strings.Cut(readme, "```go\n")
	if !ok {
		t.Fatal("README shows no Go")
	}
	program, _, _ = strings.Cut(program, "```")
	var indented bytes.Buffer
	for line := range strings.Lines(program) {
		if strings.TrimSpace(line) != "" {
			indented.WriteByte('\t')
		}
		indented.WriteString(line)
	}
	if !strings.Contains(load(t, "../parser/example_readme_test.go"), indented.String()) {
		t.Error("parser/example_readme_test.go does not hold README's program")
	}
}
