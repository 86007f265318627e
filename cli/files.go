package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/flags"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/stats"
)

// eachModel reports about every model that the arguments name, in their order. Errors of a
// file are in its report; eachModel returns only an error that ends the command.
func eachModel(ctx context.Context, s *run.Run, args *flags.FileArgs, opts reportOptions, print func(*report) error) error {
	for i, arg := range args.Paths {
		err := eachModelOf(ctx, s, args, i, opts, print)
		if late, ok := errors.AsType[*fault.OutOfTime](err); ok {
			err = reportOne(context.WithoutCancel(ctx), s, run.Source{Path: arg, Err: late}, opts, len(args.Paths) > 1, print)
		}
		if err != nil {
			return err
		}
	}
	printSummary(s)
	return nil
}

// eachModelOf reports about every model that one argument names.
func eachModelOf(ctx context.Context, s *run.Run, args *flags.FileArgs, i int, opts reportOptions, print func(*report) error) error {
	path, several := args.Paths[i], len(args.Paths) > 1
	if path == "-" {
		return reportOne(ctx, s, s.Stdin(ctx), opts, several, print)
	}
	if open, ok := s.RemoteOpener(ctx, path); ok {
		return reportOne(ctx, s, run.Source{Path: path, Open: open, Read: parser.Progress}, opts, several, print)
	}
	found, deep := 0, args.Recursive || run.IsPipeline(path)
	for src, err := range parser.Find(path, deep) {
		found++
		one := run.Source{Path: src.Path, Err: err, Open: src.Open, Read: parser.Progress}
		if rel, err := filepath.Rel(path, src.Path); err == nil && rel != "." && filepath.IsLocal(rel) {
			if one.Name = filepath.ToSlash(rel); opts.exclude != nil && opts.exclude(one.Name) {
				continue
			}
		}
		if err := reportOne(ctx, s, one, opts, several || src.Path != path, print); err != nil {
			return err
		}
	}
	if opts.choice && found > 1 && !deep {
		printChoice(ctx, s, path)
	}
	return nil
}

// printChoice prints which of a folder's models is read by commands that read one, and how
// to choose another.
func printChoice(ctx context.Context, s *run.Run, path string) {
	b := s.Policy.Limits.Budget(ctx)
	defer b.Close()
	m, err := parser.Open(b, path)
	if err != nil {
		return // those commands print the error
	}
	defer m.Close()
	if text := choiceText(m); text != "" && !s.Quiet && s.Out.Flush() == nil {
		fmt.Fprintf(s.Err, "amn: %s: %s\n     dequantize, quantize and convert read it; --weights FILE chooses another\n", term.Path(path), term.Tidy(text, wire.MaxMessage))
	}
}

// reportOne reports about one model, with its own budget.
func reportOne(ctx context.Context, s *run.Run, src run.Source, opts reportOptions, named bool, print func(*report) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r := &report{path: src.Path, name: src.Name, named: named, err: fault.Missing(src.Path, src.Err)}
	if r.err == nil || opts.judge != nil {
		p := &s.Policy.Limits
		if opts.verify {
			p = s.Policy.Long()
		}
		b := p.Budget(ctx)
		defer b.Close()
		if r.err == nil {
			fillReport(s, b, r, src, opts)
			r.err = fault.Missing(src.Path, r.err)
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
	s.Count.Worst = max(s.Count.Worst, r.class())
	s.Count.Files[r.class()]++
	if err := print(r); err != nil {
		return err
	}
	if r.err != nil {
		s.PrintError(src.Path, r.err)
	}
	return errors.Join(s.Out.Flush(), printExceptions(s, r))
}

// judge asks the gate of the command, if it has one, about the model or the error.
func (r *report) judge(b *limits.Budget, opts reportOptions) error {
	if opts.judge == nil || errors.As(r.err, new(fault.Interrupted)) {
		return nil
	}
	return opts.judge(b, r)
}

// printExceptions prints which exceptions of the policy applied to a file.
func printExceptions(s *run.Run, r *report) error {
	if r.verdict == nil || s.JSON {
		return nil
	}
	for _, line := range exceptionLines(r.verdict) {
		if _, err := fmt.Fprintf(s.Err, "     %s\n", line); err != nil {
			return err
		}
	}
	return nil
}

// fillReport opens the model and completes the report. Bodies are read if opts or a policy ask for
// it.
func fillReport(s *run.Run, b *limits.Budget, r *report, src run.Source, opts reportOptions) {
	if opts.usage {
		defer func() { r.usage = b.Usage() }()
	}
	m, err := src.Open(b)
	if err != nil {
		r.err = err
		return
	}
	r.model = m
	if opts.verify || s.Policy.Verify {
		done := s.Progress("verifying "+term.Path(src.Path), func() (int64, int64) { return src.Read(m) })
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
		list, err := readNumbers(s, b, "reading "+term.Path(src.Path), m, stats.Options{})
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
func printSummary(s *run.Run) {
	if n := s.Count.Files.Total(); n > 1 && !s.Quiet && s.Out.Flush() == nil {
		fmt.Fprintf(s.Err, "amn: %s: %s\n", term.Plural(n, "file"), &s.Count.Files)
	}
}
