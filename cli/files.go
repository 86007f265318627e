package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/stats"
)

// fileArgs are the arguments of a command that reads files.
type fileArgs struct {
	Paths     []word `arg:"" name:"path" help:"Files, folders, ollama:NAME, or - for standard input."`
	Recursive bool   `short:"r" help:"Go down into folders below."`
}

// source is one model to report about.
type source struct {
	path string
	err  error // it cannot even be looked for
	open func(*limits.Budget) (tensor.Model, error)
	read func(tensor.Model) (done, size int64) // for progress
}

// each reports about every model that the arguments name, in their order. What
// is wrong with a file is in its report; each returns only what ends the command.
func (s *session) each(ctx context.Context, args *fileArgs, opts reportOptions, print func(*report) error) error {
	for i, arg := range args.Paths {
		path := string(arg)
		if path == "-" {
			if err := s.one(ctx, s.stdin(ctx), opts, i > 0 || len(args.Paths) > 1, print); err != nil {
				return err
			}
			continue
		}
		if open, ok := s.fetches(ctx, path); ok {
			one := source{path: path, open: open, read: parser.Progress}
			if err := s.one(ctx, one, opts, len(args.Paths) > 1, print); err != nil {
				return err
			}
			continue
		}
		for src, err := range parser.Find(path, args.Recursive) {
			one := source{path: src.Path, err: err, open: src.Open, read: parser.Progress}
			if err := s.one(ctx, one, opts, len(args.Paths) > 1 || src.Path != path, print); err != nil {
				return err
			}
		}
	}
	s.summary()
	return nil
}

// fetches opens an address, where the program may open connections.
func (s *session) fetches(ctx context.Context, path string) (func(*limits.Budget) (tensor.Model, error), bool) {
	if s.remote == nil || !isAddress(path) {
		return nil, false
	}
	return func(b *limits.Budget) (tensor.Model, error) { return s.remote(ctx, b, path) }, true
}

// isAddress reports an argument that names no file: a scheme, then two slashes.
func isAddress(path string) bool {
	scheme, _, ok := strings.Cut(path, "://")
	return ok && scheme != "" && strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// one reports about one model, under an account of its own.
func (s *session) one(ctx context.Context, src source, opts reportOptions, named bool, print func(*report) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r := &report{path: src.path, named: named, err: src.err}
	if r.err == nil {
		p := &s.policy
		if opts.verify {
			p = s.longPolicy()
		}
		b := p.Budget(ctx)
		defer b.Close()
		s.fill(b, r, src, opts)
		if r.model != nil {
			defer r.model.Close()
		}
	}
	if err, ok := errors.AsType[interrupted](r.err); ok {
		return err
	}
	s.note(r.err)
	s.count[wire.ClassOf(r.err)]++
	if err := print(r); err != nil {
		return err
	}
	if r.err != nil {
		s.complain(src.path, r.err)
		return nil
	}
	return s.out.Flush()
}

// fill opens the model and sums it up; bodies are read if that was asked for.
func (s *session) fill(b *limits.Budget, r *report, src source, opts reportOptions) {
	if opts.usage {
		defer func() { r.usage = b.Usage() }()
	}
	m, err := src.open(b)
	if err != nil {
		r.err = err
		return
	}
	r.model = m
	if opts.verify || s.gate {
		done := s.progress("verifying "+showPath(src.path), func() (int64, int64) { return src.read(m) })
		err := parser.Verify(b, m)
		done()
		if err != nil {
			r.err = err
			return
		}
		r.verified = true
	}
	if opts.finite {
		list, err := s.numbers(b, "reading "+showPath(src.path), m, stats.Options{})
		if err == nil {
			err = notFinite(list)
		}
		if err != nil {
			r.err = err
			return
		}
	}
	r.sum(m.Tensors())
	if opts.quant != nil {
		r.plan(b, *opts.quant)
	}
}

// summary says how many files there were of each class, if there were several.
func (s *session) summary() {
	if n := s.count.total(); n > 1 && !s.quiet && s.out.Flush() == nil {
		fmt.Fprintf(s.err, "amn: %s: %s\n", plural(n, "file"), &s.count)
	}
}
