package cli

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/gate"
	gatereport "github.com/anamnesis-go/anamnesis/gate/report"
)

// reportFlags choose the formats and the files of reports.
type reportFlags struct {
	Format string   `enum:"text,json,sarif,junit,markdown,github,gitlab" default:"text" help:"Form of the output: text, json (same as --json), sarif, junit, markdown, github (annotations) or gitlab (code quality report)."`
	Output []string `placeholder:"FORMAT=FILE" help:"Also write a report to a file, such as sarif=report.sarif. Formats as above, and baseline for --baseline. Repeatable."`
}

// writesBaseline reports whether a baseline is written, which needs digests of files.
func (f *reportFlags) writesBaseline() bool {
	return slices.ContainsFunc(f.Output, func(o string) bool { return strings.HasPrefix(o, "baseline=") })
}

// reports holds the reports that a command writes besides its text, or instead of it.
type reports struct {
	print   bool // a report replaces the text on standard output
	writers []*gatereport.Writer
	lines   []*bufio.Writer // files of JSON, as --json prints it
	files   []*os.File
}

// outputs lists the files of the reports.
func (f *reportFlags) outputs() ([]output, error) {
	var list []output
	for _, o := range f.Output {
		name, path, ok := strings.Cut(o, "=")
		if !ok || path == "" {
			return nil, usage{fmt.Sprintf("--output %s: give a format and a file, such as sarif=scan.sarif", o)}
		}
		if name != "json" && !slices.Contains(gatereport.Formats(), name) {
			return nil, usage{fmt.Sprintf("--output %s: the format is one of json, %s", o, strings.Join(gatereport.Formats(), ", "))}
		}
		list = append(list, output{"--output " + name, path})
	}
	return list, nil
}

// open begins the reports that the flags ask for, whose files checkOutputs has admitted.
func (r *reports) open(s *session, flags *reportFlags) error {
	format := flags.Format
	version := buildOf(debug.ReadBuildInfo()).version
	switch {
	case format == "json":
		s.json = true
	case format != "text" && s.json:
		return usage{"--json and --format " + format + ": choose one"}
	case format != "text":
		w, err := gatereport.New(format, s.out, version)
		if err != nil {
			return usage{err.Error()}
		}
		r.print, r.writers = true, append(r.writers, w)
	}
	for _, o := range flags.Output {
		name, path, _ := strings.Cut(o, "=")
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		r.files = append(r.files, f)
		if name == "json" {
			r.lines = append(r.lines, bufio.NewWriter(f))
			continue
		}
		w, err := gatereport.New(name, f, version)
		if err != nil {
			return err
		}
		r.writers = append(r.writers, w)
	}
	return nil
}

// excludeReports extends exclude, a gate's filter of names below root, by the files of the
// reports, which are incomplete while the folder is judged.
func (r *reports) excludeReports(root string, exclude func(string) bool) func(string) bool {
	if len(r.files) == 0 {
		return exclude
	}
	return func(name string) bool {
		if exclude != nil && exclude(name) {
			return true
		}
		for _, f := range r.files {
			if filepath.Base(f.Name()) == filepath.Base(filepath.FromSlash(name)) && isOneOf(f.Name(), []string{filepath.Join(root, filepath.FromSlash(name))}) {
				return true
			}
		}
		return false
	}
}

// add adds one file to the reports; json writes it in one line.
func (r *reports) add(path string, v *gate.Verdict, json func(*bufio.Writer)) error {
	for _, w := range r.writers {
		if err := w.Add(path, v); err != nil {
			return err
		}
	}
	for _, w := range r.lines {
		json(w)
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// close completes the reports.
func (r *reports) close() (err error) {
	for _, w := range r.writers {
		err = errors.Join(err, w.Close())
	}
	for _, f := range r.files {
		err = errors.Join(err, f.Close())
	}
	r.writers, r.files = nil, nil
	return err
}

// abandon closes files that an error left open.
func (r *reports) abandon() {
	for _, f := range r.files {
		f.Close()
	}
}
