package cli

import (
	"bufio"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/disk"
	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/gate"
	gatereport "github.com/anamnesis-go/anamnesis/gate/report"
)

// reportFlags choose the formats and the files of reports.
type reportFlags struct {
	Format string   `enum:"text,json,sarif,junit,markdown,github,gitlab" default:"text" help:"Form of the output: text, json (same as --json), sarif, junit, markdown, github (annotations) or gitlab (code quality report)."`
	Output []string `placeholder:"FORMAT=FILE" help:"Also write a report to a file, such as sarif=report.sarif. Formats as above, and baseline for --baseline. The file must not lie in a judged folder. Repeatable."`
	Force  bool     `short:"f" help:"Replace reports that an earlier run has written, and allow outputs in a judged folder: they are listed as not judged (exit code 5)."`
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
	files   []*disk.Atomic
}

// outputs lists the files of the reports.
func (f *reportFlags) outputs() ([]disk.Output, error) {
	var list []disk.Output
	for _, o := range f.Output {
		name, path, ok := strings.Cut(o, "=")
		if !ok || path == "" {
			return nil, fault.Usage(fmt.Sprintf("--output %s: give a format and a file, such as sarif=scan.sarif", o))
		}
		if name != "json" && !slices.Contains(gatereport.Formats(), name) {
			return nil, fault.Usage(fmt.Sprintf("--output %s: the format is one of json, %s", o, strings.Join(gatereport.Formats(), ", ")))
		}
		list = append(list, disk.Output{Flag: "--output " + name, Path: path, Kind: name})
	}
	return list, nil
}

// open begins the reports that the flags ask for, whose files disk.Check has admitted.
// guard lists folders that may be a stranger's.
func (r *reports) open(s *run.Run, flags *reportFlags, guard []string) error {
	format := flags.Format
	version := s.Build().Version
	switch {
	case format == "json":
		s.JSON = true
	case format != "text" && s.JSON:
		return fault.Usage("--json and --format " + format + ": choose one")
	case format != "text":
		w, err := gatereport.New(format, s.Out, version)
		if err != nil {
			return fault.Usage(err.Error())
		}
		r.print, r.writers = true, append(r.writers, w)
	}
	for _, o := range flags.Output {
		name, path, _ := strings.Cut(o, "=")
		f, err := disk.Create(disk.Output{Flag: "--output " + name, Path: path, Kind: name}, flags.Force, guard)
		if err != nil {
			return err
		}
		r.files = append(r.files, f)
		if name == "json" {
			r.lines = append(r.lines, f.W)
			continue
		}
		w, err := gatereport.New(name, f.W, version)
		if err != nil {
			return err
		}
		r.writers = append(r.writers, w)
	}
	return nil
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

// folders returns the folders of the files.
func (r *reports) folders() (list []string) {
	for _, f := range r.files {
		list = append(list, f.Folders()...)
	}
	return list
}

// close completes the reports.
func (r *reports) close() (err error) {
	for _, w := range r.writers {
		err = errors.Join(err, w.Close())
	}
	for _, f := range r.files {
		if err == nil {
			err = f.Commit()
		}
	}
	r.writers = nil
	return err
}

// abandon removes files that an error left incomplete.
func (r *reports) abandon() {
	for _, f := range r.files {
		f.Discard()
	}
}
