package cli

import (
	"context"
	"errors"
	"os"

	"github.com/anamnesis-go/anamnesis/internal/browse"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// browseCmd browses a model in a terminal.
type browseCmd struct {
	Path string `arg:"" name:"path" help:"A file, a model folder, ollama:NAME, or - for standard input."`

	tensorsFlag `embed:""`
}

func (browseCmd) Help() string {
	return `Shows tensors, metadata and findings as lists that can be scrolled, searched and sorted. Enter
opens a row: a tensor with its first numbers and statistics, or a whole value of the metadata.
v judges the file as amn scan does, which reads all of it. ? lists the keys, q quits. A refused
file is shown with the reasons.

This needs a terminal. amn inspect, amn parse and amn stats print the same, and take --json.`
}

func (browseCmd) examples() []example {
	return []example{
		{"amn view model.safetensors", "Look around in a file."},
		{"amn view llama-fp8", "In a folder with a model."},
	}
}

// Run implements the command.
func (c *browseCmd) Run(ctx context.Context, s *session) error {
	c.grant(s)
	if s.json {
		return usage{"amn view draws on a terminal: amn parse --json prints what it shows"}
	}
	out, ok := s.to.(*os.File)
	if !ok || columnsOf(out) == 0 || os.Getenv("TERM") == "dumb" {
		return usage{"amn view draws on a terminal, which standard output is not: amn inspect and amn parse print the same"}
	}
	src, err := s.browsed(ctx, c.Path)
	if err != nil {
		return err
	}
	in, _ := s.in.(*os.File)
	keys, err := keyboard(in)
	if err != nil {
		return usage{"amn view takes keys from a terminal, and there is none: " + err.Error()}
	}
	b := s.longPolicy().Budget(ctx)
	defer b.Close()
	r := &report{path: src.path}
	s.fill(b, r, src, reportOptions{})
	if r.model != nil {
		defer r.model.Close()
	}
	if r.err != nil {
		s.note(r.err)
		if wire.ClassOf(r.err) == wire.Internal || errors.As(r.err, new(interrupted)) {
			s.complain(r.path, r.err)
			return nil
		}
	}
	v := &viewer{ctx: ctx, s: s, b: b, r: r, results: make(chan func(), 16)}
	if err = v.load(); err == nil {
		err = v.run(keys, out)
	}
	if r.err != nil { // it stays behind on the screen
		s.complain(r.path, r.err)
	}
	return err
}

// browsed finds the one model that a path names.
func (s *session) browsed(ctx context.Context, path string) (source, error) {
	if path == "-" {
		return s.stdin(ctx), nil
	}
	if open, ok := s.fetches(ctx, path); ok {
		return source{path: path, open: open, read: parser.Progress}, nil
	}
	var found []parser.Source
	for src, err := range parser.Find(path, false) {
		if err != nil {
			return source{}, err
		}
		if found = append(found, src); len(found) > 1 {
			return source{}, usage{showPath(path) + " holds several models: name one, such as " + showPath(found[0].Path)}
		}
	}
	if len(found) == 0 {
		return source{}, usage{showPath(path) + " holds no model"}
	}
	return source{path: found[0].Path, open: found[0].Open, read: parser.Progress}, nil
}

// A viewer is a browser of one model on one terminal.
type viewer struct {
	ctx     context.Context
	s       *session
	b       *limits.Budget
	r       *report
	model   *browse.Model
	tensors []tensor.Info
	meta    []metaRow
	found   []foundRow
	results chan func() // of what runs beside, to be called by the loop
	cancel  context.CancelFunc
	judging bool
}

// aside runs work beside the loop, on an account of its own that ends with the page;
// what it returns is called by the loop.
func (v *viewer) aside(ctx context.Context, work func(*limits.Budget) func()) {
	go func() {
		var done func()
		defer func() {
			if p := recover(); p != nil {
				done = func() { v.model.SetStatus("internal error: " + wire.Clean(errText(p), 256)) }
			}
			select {
			case v.results <- done:
			case <-ctx.Done():
			}
		}()
		b := v.s.longPolicy().Budget(ctx)
		defer b.Close()
		done = work(b)
	}()
}
