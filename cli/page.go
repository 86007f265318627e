package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/page"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// writePage writes an HTML page about one file or model, with the verdict of a scan, which
// reads pickles to their end, and bodies.
func (s *session) writePage(ctx context.Context, c *inspectCmd) error {
	if len(c.Paths) != 1 || c.Paths[0] == "-" {
		return usage{"--html: name one file or the folder of one model"}
	}
	if err := checkOutputs([]output{{"--html", c.HTML}}, c.Paths); err != nil {
		return err
	}
	path, pages := c.Paths[0], 0
	return s.eachModel(ctx, &fileArgs{c.Paths, c.Recursive}, reportOptions{}, func(r *report) error {
		if pages++; pages > 1 {
			return usage{"--html: " + showPath(path) + " contains several models: name one"}
		}
		made, err := s.pageOf(ctx, r)
		if err != nil {
			return err
		}
		f, err := createAtomic(c.HTML)
		if err != nil {
			return err
		}
		defer f.discard()
		if err = page.Write(f.w, made); err == nil {
			err = f.commit()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", showPath(c.HTML), err)
		}
		if !s.quiet && !s.json {
			s.line("%s", showPath(c.HTML))
		}
		return nil
	})
}

// pageOf judges the model of a report and returns the report of its page.
func (s *session) pageOf(ctx context.Context, r *report) (*page.Report, error) {
	b := s.longPolicy().Budget(ctx)
	defer b.Close()
	judging := s.longPolicy().Budget(ctx)
	defer judging.Close()
	v, size, err := s.judgeOne(judging, r)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return page.Refused(r.path, size, r.err), nil
	}
	defer v.Close()
	s.note(v.Err)
	return page.New(b, r.path, size, r.model, v)
}

// judgeOne returns the gate's verdict about the file of a report, or about its model if that
// has several files. It returns nil if neither can be opened.
func (s *session) judgeOne(b *limits.Budget, r *report) (*gate.Verdict, int64, error) {
	g := gate.New(s.gatePolicy)
	info, err := os.Stat(r.path)
	if err == nil && info.Mode().IsRegular() && filepath.Ext(r.path) != ".json" {
		f, err := os.Open(r.path)
		if err != nil {
			return nil, 0, nil //nolint:nilerr // the report has the error
		}
		defer f.Close()
		v, err := g.Check(b, f, info.Size(), gate.Hint{Name: filepath.Base(r.path)})
		return v, info.Size(), err
	}
	if r.model == nil {
		return nil, 0, nil
	}
	v, err := g.CheckModel(b, r.path, true, func() (tensor.Model, error) { return parser.Open(b, r.path) })
	return v, 0, err
}
