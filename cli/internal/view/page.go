package view

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/anamnesis-go/anamnesis/cli/internal/disk"
	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/flags"
	"github.com/anamnesis-go/anamnesis/cli/internal/judging"
	"github.com/anamnesis-go/anamnesis/cli/internal/report"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/page"
	"github.com/anamnesis-go/anamnesis/internal/folder"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// openPage begins the page of --html, nil for none.
func (c *Inspect) openPage() (*disk.Atomic, error) {
	if c.HTML == "" {
		return nil, nil
	}
	if len(c.Paths) != 1 || c.Paths[0] == "-" {
		return nil, fault.Usage("--html: name one file or the folder of one model")
	}
	o := disk.Output{Flag: "--html", Path: c.HTML, Kind: "page"}
	if err := disk.Check([]disk.Output{o}, c.Paths, c.Paths, c.Force); err != nil {
		return nil, err
	}
	return disk.Create(o, c.Force, disk.GuardOf(c.Paths))
}

// writePage writes an HTML page about one file or model, with the verdict of a scan, which
// reads pickles to their end, and bodies. The page is written once the whole verdict is
// known: of a folder, that of all its files.
func writePage(ctx context.Context, s *run.Run, c *Inspect, f *disk.Atomic) error {
	path := c.Paths[0]
	var made *page.Report
	pages, judged := 0, ""
	err := report.Each(ctx, s, &flags.FileArgs{Paths: c.Paths, Recursive: c.Recursive}, report.Options{Exclude: c.page().Exclude(nil)}, func(r *report.Report) (err error) {
		if pages++; pages == 1 {
			judged = r.Path
			made, err = pageOf(ctx, s, r)
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case pages > 1:
		return fault.Usage("--html: " + term.Path(path) + " contains several models: name one")
	case made == nil:
		return wire.ErrInternal.Errorf("no report of %s, and no error", term.Path(path))
	}
	if err := judgeBeside(ctx, s, c.page(), judged, made); err != nil {
		return err
	}
	if err := errors.Join(page.Write(f.W, made), f.W.Flush()); err != nil {
		return err
	}
	if err := f.Commit(); err != nil {
		return err
	}
	if !s.Quiet && !s.JSON {
		s.Out.Line("%s", term.Path(c.HTML))
	}
	return nil
}

// page returns the page if it lies in the folder that is inspected.
func (c *Inspect) page() *disk.Own {
	return disk.OutputsBelow([]disk.Output{{Flag: "--html", Path: c.HTML, Kind: "page"}}, c.Paths[0])
}

// judgeBeside judges all files of the model's folder but the judged one, as a scan does, and
// adds the refusals to the page.
func judgeBeside(ctx context.Context, s *run.Run, own *disk.Own, judged string, made *page.Report) error {
	if !disk.IsFolder(own.Root) {
		return nil
	}
	g := gate.Gate{Policy: s.Policy.Gate, Today: time.Now().UTC().Format(time.DateOnly), Exclude: own.Exclude(nil)}
	p := s.Policy.Long()
	b := p.Budget(ctx)
	defer b.Close()
	for v, err := range g.CheckPath(b, own.Root) {
		if err != nil {
			return err
		}
		if filepath.Clean(v.Path) != filepath.Clean(judged) {
			addRefusals(s, made, v)
		}
	}
	for _, name := range own.Names() {
		addRefusals(s, made, g.Unseen(name, judging.NotJudged))
	}
	return nil
}

// addRefusals adds the refusals of a file to a page, and to the exit code.
func addRefusals(s *run.Run, made *page.Report, v *gate.Verdict) {
	s.Count.Note(v.Err)
	if v.Err == nil {
		return
	}
	to := &made.Verdict
	if to.Accepted {
		to.Accepted, to.Class = false, v.Class().String()
	}
	for _, r := range v.Refusals() {
		found := page.Finding{Rule: r.Rule, Severity: "refusal", Where: wire.Text(v.Name, 256), Text: wire.Text(r.Text, wire.MaxMessage)}
		to.Findings = append(to.Findings, found)
	}
}

// pageOf judges the model of a report and returns the report of its page.
func pageOf(ctx context.Context, s *run.Run, r *report.Report) (*page.Report, error) {
	b := s.Policy.Long().Budget(ctx)
	defer b.Close()
	judging := s.Policy.Long().Budget(ctx)
	defer judging.Close()
	j, err := judge(s, judging, r)
	if err != nil {
		return nil, err
	}
	defer j.Close()
	if j.v == nil {
		return page.Refused(r.Path, j.size, r.Err), nil
	}
	s.Count.Note(j.v.Err)
	made, err := page.New(b, r.Path, j.size, r.Model, j.v)
	if err != nil || j.f == nil {
		return made, err
	}
	return made, made.Evidence(b, j.f, j.size, j.v)
}

// A judgement is the verdict of a model, nil if nothing could be opened, and the file that was judged, nil
// if the model has several.
type judgement struct {
	v    *gate.Verdict
	f    *os.File
	size int64
}

// Close closes the verdict and the file.
func (j *judgement) Close() {
	if j.v != nil {
		j.v.Close()
	}
	if j.f != nil {
		j.f.Close()
	}
}

// judge judges the file of a report, or its model if that has several files.
func judge(s *run.Run, b *limits.Budget, r *report.Report) (*judgement, error) {
	j := &judgement{}
	g := gate.New(s.Policy.Gate)
	info, err := os.Stat(r.Path)
	if err == nil && info.Mode().IsRegular() && filepath.Ext(r.Path) != ".json" {
		if j.f, err = folder.OpenRegular(r.Path); err != nil {
			return &judgement{}, nil //nolint:nilerr // the report has the error
		}
		j.size = info.Size()
		j.v, err = g.Check(b, j.f, j.size, gate.Hint{Name: filepath.Base(r.Path)})
	} else if r.Model != nil {
		j.v, err = g.CheckModel(b, r.Path, true, func() (tensor.Model, error) { return parser.Open(b, r.Path) })
	}
	if err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}
