package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
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

// A source is a model to be opened.
type source struct {
	path string
	err  error  // why it cannot be opened, if that is known already
	name string // relative to the folder of the argument
	open func(*limits.Budget) (tensor.Model, error)
	read func(tensor.Model) (done, size int64) // for progress
}

// eachModel reports about every model that the arguments name, in their order. Errors of a
// file are in its report; eachModel returns only an error that ends the command.
func (s *session) eachModel(ctx context.Context, args *fileArgs, opts reportOptions, print func(*report) error) error {
	for i, arg := range args.Paths {
		err := s.eachModelOf(ctx, args, i, opts, print)
		if late, ok := errors.AsType[*fault.OutOfTime](err); ok {
			err = s.reportOne(context.WithoutCancel(ctx), source{path: arg, err: late}, opts, len(args.Paths) > 1, print)
		}
		if err != nil {
			return err
		}
	}
	s.printSummary()
	return nil
}

// eachModelOf reports about every model that one argument names.
func (s *session) eachModelOf(ctx context.Context, args *fileArgs, i int, opts reportOptions, print func(*report) error) error {
	path, several := args.Paths[i], len(args.Paths) > 1
	if path == "-" {
		return s.reportOne(ctx, s.stdin(ctx), opts, several, print)
	}
	if open, ok := s.remoteOpener(ctx, path); ok {
		return s.reportOne(ctx, source{path: path, open: open, read: parser.Progress}, opts, several, print)
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
		if err := s.reportOne(ctx, one, opts, several || src.Path != path, print); err != nil {
			return err
		}
	}
	if opts.choice && found > 1 && !deep {
		s.printChoice(ctx, path)
	}
	return nil
}

// printChoice prints which of a folder's models is read by commands that read one, and how
// to choose another.
func (s *session) printChoice(ctx context.Context, path string) {
	b := s.policy.Limits.Budget(ctx)
	defer b.Close()
	m, err := parser.Open(b, path)
	if err != nil {
		return // those commands print the error
	}
	defer m.Close()
	if text := choiceText(m); text != "" && !s.quiet && s.out.Flush() == nil {
		fmt.Fprintf(s.err, "amn: %s: %s\n     dequantize, quantize and convert read it; --weights FILE chooses another\n", term.Path(path), term.Tidy(text, wire.MaxMessage))
	}
}

// remoteOpener returns a function that opens an address, and false if path is none or the
// program opens no connections.
func (s *session) remoteOpener(ctx context.Context, path string) (func(*limits.Budget) (tensor.Model, error), bool) {
	if !s.isRemote(path) {
		return nil, false
	}
	return func(b *limits.Budget) (tensor.Model, error) { return s.remote(ctx, b, path) }, true
}

// found returns the models that an argument names: those of an address, a file or a folder.
func (s *session) found(ctx context.Context, path string, recursive bool) iter.Seq2[source, error] {
	return func(yield func(source, error) bool) {
		if open, ok := s.remoteOpener(ctx, path); ok {
			yield(source{path: path, open: open}, nil)
			return
		}
		for src, err := range parser.Find(path, recursive || isPipeline(path)) {
			if !yield(source{path: src.Path, open: src.Open}, err) {
				return
			}
		}
	}
}

// isRemote reports whether this program opens connections to read path.
func (s *session) isRemote(path string) bool { return s.remote != nil && isAddress(path) }

// isAddress reports whether path is an address: a scheme followed by "://".
func isAddress(path string) bool {
	scheme, _, ok := strings.Cut(path, "://")
	return ok && scheme != "" && strings.Trim(strings.ToLower(scheme), "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// reportOne reports about one model, with its own budget.
func (s *session) reportOne(ctx context.Context, src source, opts reportOptions, named bool, print func(*report) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r := &report{path: src.path, name: src.name, named: named, err: fault.Missing(src.path, src.err)}
	if r.err == nil || opts.judge != nil {
		p := &s.policy.Limits
		if opts.verify {
			p = s.policy.Long()
		}
		b := p.Budget(ctx)
		defer b.Close()
		if r.err == nil {
			s.fill(b, r, src, opts)
			r.err = fault.Missing(src.path, r.err)
		}
		if r.model != nil {
			defer r.model.Close()
		}
		if err := r.judge(b, opts); err != nil {
			return err
		}
	}
	if err, ok := errors.AsType[fault.Interrupted](r.err); ok {
		return err
	}
	s.count.worst = max(s.count.worst, r.class())
	s.count.files[r.class()]++
	if err := print(r); err != nil {
		return err
	}
	if r.err != nil {
		s.printError(src.path, r.err)
	}
	return errors.Join(s.out.Flush(), s.printExceptions(r))
}

// judge asks the gate of the command, if it has one, about the model or the error.
func (r *report) judge(b *limits.Budget, opts reportOptions) error {
	if opts.judge == nil || errors.As(r.err, new(fault.Interrupted)) {
		return nil
	}
	return opts.judge(b, r)
}

// printExceptions prints which exceptions of the policy applied to a file.
func (s *session) printExceptions(r *report) error {
	if r.verdict == nil || s.json {
		return nil
	}
	for _, line := range exceptionLines(r.verdict) {
		if _, err := fmt.Fprintf(s.err, "     %s\n", line); err != nil {
			return err
		}
	}
	return nil
}

// fill opens the model and completes the report. Bodies are read if opts or a policy ask for
// it.
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
	if opts.verify || s.policy.Verify {
		done := s.progress("verifying "+term.Path(src.path), func() (int64, int64) { return src.read(m) })
		err := parser.Verify(b, m)
		if err == nil && opts.verify {
			err = parser.VerifySource(b, m)
		}
		done()
		if err != nil {
			r.err = err
			return
		}
		r.verified = parser.SourceVerified(m)
	}
	if opts.finite {
		list, err := s.readNumbers(b, "reading "+term.Path(src.path), m, stats.Options{})
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
	r.estimateMemory(b, opts.tokens, opts.batch)
}

// printSummary prints how many files there were of each class, if there were several.
func (s *session) printSummary() {
	if n := s.count.files.total(); n > 1 && !s.quiet && s.out.Flush() == nil {
		fmt.Fprintf(s.err, "amn: %s: %s\n", term.Plural(n, "file"), &s.count.files)
	}
}
