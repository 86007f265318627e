package judging

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

// ReportFlags choose the formats and the files of reports.
type ReportFlags struct {
	Format string   `enum:"text,json,sarif,junit,html,markdown,github,gitlab" default:"text" help:"Form of the output: text, json (same as --json), sarif, junit, html (a page for people), markdown, github (annotations) or gitlab (code quality report)."`
	Output []string `placeholder:"FORMAT=FILE" help:"Also write a report to a file, such as sarif=report.sarif. Formats as above, and baseline for --baseline. The file must not lie in a judged folder. Repeatable."`
	Force  bool     `short:"f" help:"Replace reports that an earlier run has written, and allow outputs in a judged folder: they are listed as not judged (exit code 5)."`
}

// WritesBaseline reports whether a baseline is written, which needs digests of files.
func (f *ReportFlags) WritesBaseline() bool {
	return slices.ContainsFunc(f.Output, func(o string) bool { return strings.HasPrefix(o, "baseline=") })
}

// Reports holds the reports that a command writes besides its text, or instead of it.
type Reports struct {
	Print   bool // a report replaces the text on standard output
	writers []*gatereport.Writer
	lines   []*bufio.Writer // files of JSON, as --json prints it
	files   []*disk.Atomic
}

// Outputs lists the files of the reports.
func (f *ReportFlags) Outputs() ([]disk.Output, error) {
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

// Open begins the reports that the flags ask for. disk.Check has admitted their files.
// guard lists folders that may be a stranger's.
func (r *Reports) Open(s *run.Run, flags *ReportFlags, guard []string) error {
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
		r.Print, r.writers = true, append(r.writers, w)
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

// Add adds one file to the reports; json writes it in one line.
func (r *Reports) Add(path string, v *gate.Verdict, json func(*bufio.Writer)) error {
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

// Folders returns the folders of the files.
func (r *Reports) Folders() (list []string) {
	for _, f := range r.files {
		list = append(list, f.Folders()...)
	}
	return list
}

// Close completes the reports.
func (r *Reports) Close() (err error) {
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

// Abandon removes files that an error left incomplete.
func (r *Reports) Abandon() {
	for _, f := range r.files {
		f.Discard()
	}
}
