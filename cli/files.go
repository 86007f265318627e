package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/stats"
)

// fileArgs are the arguments of a command that reads files.
type fileArgs struct {
	Paths     []string `arg:"" name:"path" help:"Files, folders, ollama:NAME, or - for standard input."`
	Recursive bool     `short:"r" help:"Include subfolders."`
}

// source is one model to report about.
type source struct {
	path string
	err  error  // it cannot even be looked for
	name string // below the folder that was named
	open func(*limits.Budget) (tensor.Model, error)
	read func(tensor.Model) (done, size int64) // for progress
}

// each reports about every model that the arguments name, in their order. What
// is wrong with a file is in its report; each returns only what ends the command.
func (s *session) each(ctx context.Context, args *fileArgs, opts reportOptions, print func(*report) error) error {
	for i, arg := range args.Paths {
		err := s.argument(ctx, args, i, opts, print)
		if late, ok := errors.AsType[*outOfTime](err); ok {
			err = s.one(context.WithoutCancel(ctx), source{path: arg, err: late}, opts, len(args.Paths) > 1, print)
		}
		if err != nil {
			return err
		}
	}
	s.summary()
	return nil
}

// argument reports about every model that one argument names.
func (s *session) argument(ctx context.Context, args *fileArgs, i int, opts reportOptions, print func(*report) error) error {
	path, several := args.Paths[i], len(args.Paths) > 1
	if path == "-" {
		return s.one(ctx, s.stdin(ctx), opts, several, print)
	}
	if open, ok := s.fetches(ctx, path); ok {
		return s.one(ctx, source{path: path, open: open, read: parser.Progress}, opts, several, print)
	}
	found, deep := 0, args.Recursive || isPipeline(path)
	for src, err := range parser.Find(path, deep) {
		found++
		one := source{path: src.Path, err: err, open: src.Open, read: parser.Progress}
		if rel, err := filepath.Rel(path, src.Path); err == nil && rel != "." && filepath.IsLocal(rel) {
			if one.name = filepath.ToSlash(rel); opts.exclude != nil && opts.exclude(one.name) {
				continue
			}
		}
		if err := s.one(ctx, one, opts, several || src.Path != path, print); err != nil {
			return err
		}
	}
	if opts.choice && found > 1 && !deep {
		s.meant(ctx, path)
	}
	return nil
}

// meant says which of the models of a folder is read where one is asked for, and how to choose.
func (s *session) meant(ctx context.Context, path string) {
	b := s.policy.Budget(ctx)
	defer b.Close()
	m, err := parser.Open(b, path)
	if err != nil {
		return // such a command says why
	}
	defer m.Close()
	if text := chosen(m); text != "" && !s.quiet && s.out.Flush() == nil {
		fmt.Fprintf(s.err, "amn: %s: %s\n     dequantize, quantize and convert read it; --weights FILE chooses another\n", showPath(path), tidy(text, wire.MaxMessage))
	}
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
	return ok && scheme != "" && strings.Trim(strings.ToLower(scheme), "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// one reports about one model, under an account of its own.
func (s *session) one(ctx context.Context, src source, opts reportOptions, named bool, print func(*report) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r := &report{path: src.path, name: src.name, named: named, err: src.err}
	if r.err == nil || opts.judge != nil {
		p := &s.policy
		if opts.verify {
			p = s.longPolicy()
		}
		b := p.Budget(ctx)
		defer b.Close()
		if r.err == nil {
			s.fill(b, r, src, opts)
		}
		if r.model != nil {
			defer r.model.Close()
		}
		if err := r.judged(b, opts); err != nil {
			return err
		}
	}
	if err, ok := errors.AsType[interrupted](r.err); ok {
		return err
	}
	s.worst = max(s.worst, r.class())
	s.count[r.class()]++
	if err := print(r); err != nil {
		return err
	}
	if r.err != nil {
		s.complain(src.path, r.err)
	}
	return errors.Join(s.out.Flush(), s.aside(r))
}

// judged asks a gate, where the command has one, about what was opened or was not.
func (r *report) judged(b *limits.Budget, opts reportOptions) error {
	if opts.judge == nil || errors.As(r.err, new(interrupted)) {
		return nil
	}
	return opts.judge(b, r)
}

// aside says what an exception of the policy did for a file.
func (s *session) aside(r *report) error {
	if r.verdict == nil || s.json {
		return nil
	}
	for _, line := range asideOf(r.verdict) {
		if _, err := fmt.Fprintf(s.err, "     %s\n", line); err != nil {
			return err
		}
	}
	return nil
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
	r.remembers(b, opts.tokens, opts.batch)
}

// summary says how many files there were of each class, if there were several.
func (s *session) summary() {
	if n := s.count.total(); n > 1 && !s.quiet && s.out.Flush() == nil {
		fmt.Fprintf(s.err, "amn: %s: %s\n", plural(n, "file"), &s.count)
	}
}
