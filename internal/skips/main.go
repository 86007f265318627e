// Skips reads what go test -json prints, says what failed and what was skipped, and
// fails if a test was skipped for an unexpected reason:
//
//	go test -json ./... | go run ./internal/skips .ci/skips.txt
//
// A line of that file is the beginning of a reason, as the test gives it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if !run(os.Stdin, os.Stdout, expected(string(text))) {
		os.Exit(1)
	}
}

// expected are the reasons of a file without its empty lines and comments.
func expected(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}

// An event is one line of go test -json.
type event struct {
	Action, Package, Test, Output, ImportPath string
}

// A log is what the tests of a run printed.
type log struct {
	out   io.Writer
	lines map[string][]string // by package and test
	why   map[string][]string // the tests that were skipped, by reason
	good  bool
	some  bool // a package passed
}

// run reports whether nothing failed and every skip was expected.
func run(in io.Reader, out io.Writer, reasons []string) bool {
	l := &log{out: out, lines: map[string][]string{}, why: map[string][]string{}, good: true}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil { // what the go command says itself
			fmt.Fprintln(out, lines.Text())
			continue
		}
		l.take(e)
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(out, err)
		l.good = false
	}
	l.skipped(reasons)
	return l.good && l.some
}

func (l *log) take(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output", "build-output":
		if e.Test == "" && e.Output != "PASS\n" {
			fmt.Fprint(l.out, e.Output)
		} else if e.Test != "" {
			l.lines[key] = append(l.lines[key], e.Output)
		}
	case "fail", "build-fail":
		l.good = false
		fmt.Fprint(l.out, strings.Join(l.lines[key], ""))
		delete(l.lines, key)
	case "skip":
		if e.Test != "" {
			why := reason(l.lines[key])
			l.why[why] = append(l.why[why], strings.TrimPrefix(key, "github.com/anamnesis-go/anamnesis/"))
		}
		delete(l.lines, key)
	case "pass":
		l.some = l.some || e.Test == ""
		delete(l.lines, key)
	}
}

// reason is what a test said last: "    file_test.go:12: why".
func reason(lines []string) string {
	for _, line := range slices.Backward(lines) {
		if _, rest, ok := strings.Cut(line, ".go:"); ok {
			_, why, _ := strings.Cut(rest, ": ")
			return strings.TrimSpace(why)
		}
	}
	return "no reason was given"
}

// skipped lists the reasons, and those that were not expected.
func (l *log) skipped(reasons []string) {
	var all []string
	for why := range l.why {
		all = append(all, why)
	}
	slices.Sort(all)
	for _, why := range all {
		word := "skipped"
		if !slices.ContainsFunc(reasons, func(r string) bool { return strings.HasPrefix(why, r) }) {
			word, l.good = "FAIL: skipped, and not expected", false
		}
		tests := l.why[why]
		fmt.Fprintf(l.out, "%s: %s (%d, such as %s)\n", word, why, len(tests), tests[0])
	}
}
