package view

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/flags"
	"github.com/anamnesis-go/anamnesis/cli/internal/report"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/gate/page"
	"github.com/anamnesis-go/anamnesis/internal/browse"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Browse browses a model in a terminal.
type Browse struct {
	Path  string `arg:"" name:"path" help:"A file, a model folder, ollama:NAME, or - for standard input."`
	Other string `arg:"" optional:"" name:"other" help:"A second model, which is compared with the first."`

	flags.TensorsFlag `embed:""`
}

func (Browse) Help() string {
	return `Shows the tensors as a tree of modules, and metadata and findings as lists, all of which can be
scrolled, searched and sorted, with keys or a mouse. A pane shows the selected row: of a tensor
its first numbers, statistics and histogram, stored beside decoded. Large tensors are sampled; e
reads all numbers. Of two models the tree shows what differs, and c compares their numbers.
v judges the file as amn scan does, which reads all of it. ? lists the keys, q quits. A refused
file is shown with the reasons.

This needs a terminal, of 40 columns or more. amn inspect, amn parse, amn stats and amn diff print
the same, and take --json.`
}

func (Browse) Examples() []run.Example {
	return []run.Example{
		{Command: "amn view model.safetensors", What: "Look around in a file."},
		{Command: "amn view llama-fp8", What: "In a folder with a model."},
		{Command: "amn view model.safetensors sharded", What: "What differs between two?"},
	}
}

// Run implements the command.
func (c *Browse) Run(ctx context.Context, s *run.Run) error {
	c.Grant(s)
	if s.JSON {
		return fault.Usage("amn view needs a terminal; amn parse --json prints the same")
	}
	out, ok := s.To.(*os.File)
	if !ok || term.Columns(out) == 0 || os.Getenv("TERM") == "dumb" {
		return fault.Usage("amn view needs a terminal, and standard output is not one; amn inspect and amn parse print the same")
	}
	var sources []run.Source
	for _, path := range []string{c.Path, c.Other}[:1+min(len(c.Other), 1)] {
		src, err := browseSource(ctx, s, path)
		if e, ok := errors.AsType[*several](err); ok {
			e.offer(s)
			return nil
		}
		if err != nil {
			return err
		}
		sources = append(sources, src)
	}
	in, _ := s.In.(*os.File)
	keys, err := term.Keyboard(in)
	if err != nil {
		return fault.Usage("amn view needs a terminal for its keys: " + err.Error())
	}
	return browseModels(ctx, s, sources, keys, out)
}

// browseModels opens one or two models and shows them.
func browseModels(ctx context.Context, s *run.Run, sources []run.Source, keys, out *os.File) (err error) {
	b := s.Policy.Long().Budget(ctx)
	defer b.Close()
	v := &viewer{ctx: ctx, s: s, b: b, results: make(chan func(), 16)}
	for k, src := range sources {
		r := &report.Report{Path: src.Path}
		report.Fill(s, b, r, src, report.Options{})
		if r.Model != nil {
			defer r.Model.Close()
		}
		if r.Err != nil {
			s.Count.Note(r.Err)
			if k > 0 || len(sources) > 1 || wire.ClassOf(r.Err) == wire.Internal || errors.As(r.Err, new(fault.Interrupted)) {
				s.PrintError(r.Path, r.Err)
				return nil
			}
		}
		if k == 0 {
			v.r = r
		} else {
			v.second = r
		}
	}
	if err = v.load(); err == nil {
		err = v.run(keys, out)
	}
	v.working.Wait()    // the models are closed next
	if v.r.Err != nil { // so that it remains visible after the browser has ended
		s.PrintError(v.r.Path, v.r.Err)
	}
	return err
}

// mostOffered bounds the models of a folder that are offered.
const mostOffered = 20

// browseSource returns the model that path names, or an error that lists them if there are several.
func browseSource(ctx context.Context, s *run.Run, path string) (run.Source, error) {
	if path == "-" {
		return s.Stdin(ctx), nil
	}
	if open, ok := s.RemoteOpener(ctx, path); ok {
		return run.Source{Path: path, Open: open, Read: parser.Progress}, nil
	}
	var found []parser.Source
	for src, err := range parser.Find(path, false) {
		if err != nil {
			return run.Source{}, fault.Missing(path, err)
		}
		if found = append(found, src); len(found) > mostOffered {
			break
		}
	}
	switch len(found) {
	case 0:
		return run.Source{}, fault.Usage(term.Path(path) + " contains no model")
	case 1:
		return run.Source{Path: found[0].Path, Open: found[0].Open, Read: parser.Progress}, nil
	}
	return run.Source{}, &several{path, found}
}

// several is the error of a folder with several models, which it offers.
type several struct {
	path  string
	found []parser.Source
}

func (e *several) Error() string { return term.Path(e.path) + " contains several models: name one" }
func (e *several) Unwrap() error { return wire.ErrUsage }

// offer prints the error, and the models by name.
func (e *several) offer(s *run.Run) {
	s.Count.Note(e)
	s.PrintError("", e)
	for i, src := range e.found {
		if i == mostOffered {
			fmt.Fprintf(s.Err, "     and more (amn inspect lists all)\n")
			break
		}
		fmt.Fprintf(s.Err, "     %s\n", term.Path(src.Path))
	}
}

// A viewer shows one model on a terminal, or two.
type viewer struct {
	ctx      context.Context
	s        *run.Run
	b        *limits.Budget
	r        *report.Report
	second   *report.Report // nil for one model
	model    *browse.Model
	tree     *browse.Tree
	tensors  []tensor.Info // of two models those of both
	pairs    []pair        // of two models
	meta     []metaRow
	findings []findingRow
	globals  []page.Global
	results  chan func() // updates by background work, which the loop calls
	working  sync.WaitGroup
	cancel   context.CancelFunc
	judging  bool

	plans     [2]plan
	at        place // of the page that is shown
	looked    *look // of the tensor that is shown
	sparks    map[int]spark
	sampling  bool
	comparing bool
}

// A place is what the page is about.
type place struct {
	tab, row int
	module   string
	is       bool
}

// background runs work in a goroutine with its own budget. The loop calls the function that
// work returns, unless the page's context has ended.
func (v *viewer) background(ctx context.Context, work func(*limits.Budget) func()) {
	v.working.Go(func() {
		var done func()
		defer func() {
			if p := recover(); p != nil {
				done = func() { v.model.SetStatus("internal error: " + wire.Clean(errText(p), 256)) }
			}
			v.send(ctx, done)
		}()
		b := v.s.Policy.Long().Budget(ctx)
		defer b.Close()
		done = work(b)
	})
}

// send gives the loop a function to call.
func (v *viewer) send(ctx context.Context, done func()) {
	select {
	case v.results <- done:
	case <-ctx.Done():
	}
}
