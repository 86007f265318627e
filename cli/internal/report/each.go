package report

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
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/stats"
)

// Each reports about every model that the arguments name, in their order. Errors of a
// file are in its report; Each returns only an error that ends the command.
func Each(ctx context.Context, s *run.Run, args *flags.FileArgs, opts Options, print func(*Report) error) error {
	for i, arg := range args.Paths {
		err := eachModelOf(ctx, s, args, i, opts, print)
		if late, ok := errors.AsType[*fault.OutOfTime](err); ok {
			err = One(context.WithoutCancel(ctx), s, run.Source{Path: arg, Err: late}, opts, len(args.Paths) > 1, print)
		}
		if err != nil {
			return err
		}
	}
	printSummary(s)
	return nil
}

// eachModelOf reports about every model that one argument names.
func eachModelOf(ctx context.Context, s *run.Run, args *flags.FileArgs, i int, opts Options, print func(*Report) error) error {
	path, several := args.Paths[i], len(args.Paths) > 1
	if path == "-" {
		return One(ctx, s, s.Stdin(ctx), opts, several, print)
	}
	if open, ok := s.RemoteOpener(ctx, path); ok {
		return One(ctx, s, run.Source{Path: path, Open: open, Read: parser.Progress}, opts, several, print)
	}
	found, deep := 0, args.Recursive || run.IsPipeline(path)
	for src, err := range parser.Find(path, deep) {
		found++
		one := run.Source{Path: src.Path, Err: err, Open: src.Open, Read: parser.Progress}
		if rel, err := filepath.Rel(path, src.Path); err == nil && rel != "." && filepath.IsLocal(rel) {
			if one.Name = filepath.ToSlash(rel); opts.Exclude != nil && opts.Exclude(one.Name) {
				continue
			}
		}
		if err := One(ctx, s, one, opts, several || src.Path != path, print); err != nil {
			return err
		}
	}
	if opts.Choice && found > 1 && !deep {
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
	if text := ChoiceText(m); text != "" && !s.Quiet && s.Out.Flush() == nil {
		fmt.Fprintf(s.Err, "amn: %s: %s\n     dequantize, quantize and convert read it; --weights FILE chooses another\n", term.Path(path), term.Tidy(text, wire.MaxMessage))
	}
}

// One reports about one model, with its own budget.
func One(ctx context.Context, s *run.Run, src run.Source, opts Options, named bool, print func(*Report) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r := &Report{Path: src.Path, Name: src.Name, named: named, Err: fault.Missing(src.Path, src.Err)}
	if r.Err == nil || opts.Judge != nil {
		p := &s.Policy.Limits
		if opts.Verify {
			p = s.Policy.Long()
		}
		b := p.Budget(ctx)
		defer b.Close()
		if r.Err == nil {
			Fill(s, b, r, src, opts)
			r.Err = fault.Missing(src.Path, r.Err)
		}
		if r.Model != nil {
			defer r.Model.Close()
		}
		if err := r.judge(b, opts); err != nil {
			return err
		}
	}
	if err, ok := errors.AsType[fault.Interrupted](r.Err); ok {
		return err
	}
	s.Count.Worst = max(s.Count.Worst, r.Class())
	s.Count.Files[r.Class()]++
	if err := print(r); err != nil {
		return err
	}
	if r.Err != nil {
		s.PrintError(src.Path, r.Err)
	}
	return errors.Join(s.Out.Flush(), printExceptions(s, r))
}

// judge asks the gate of the command, if it has one, about the model or the error.
func (r *Report) judge(b *limits.Budget, opts Options) error {
	if opts.Judge == nil || errors.As(r.Err, new(fault.Interrupted)) {
		return nil
	}
	return opts.Judge(b, r)
}

// printExceptions prints which exceptions of the policy applied to a file.
func printExceptions(s *run.Run, r *Report) error {
	if r.Verdict == nil || s.JSON {
		return nil
	}
	for _, line := range ExceptionLines(r.Verdict) {
		if _, err := fmt.Fprintf(s.Err, "     %s\n", line); err != nil {
			return err
		}
	}
	return nil
}

// Fill opens the model and completes the report. Bodies are read if opts or a policy ask for
// it.
func Fill(s *run.Run, b *limits.Budget, r *Report, src run.Source, opts Options) {
	if opts.Usage {
		defer func() { r.usage = b.Usage() }()
	}
	m, err := src.Open(b)
	if err != nil {
		r.Err = err
		return
	}
	r.Model = m
	if opts.Verify || s.Policy.Verify {
		done := s.Progress("verifying "+term.Path(src.Path), func() (int64, int64) { return src.Read(m) })
		err := parser.Verify(b, m)
		if err == nil && opts.Verify {
			err = parser.VerifySource(b, m)
		}
		done()
		if err != nil {
			r.Err = err
			return
		}
		r.verified = parser.SourceVerified(m)
	}
	if opts.Finite {
		list, err := ReadNumbers(s, b, "reading "+term.Path(src.Path), m, stats.Options{})
		if err == nil {
			err = notFinite(list)
		}
		if err != nil {
			r.Err = err
			return
		}
	}
	r.Sum(m.Tensors())
	if opts.Quant != nil {
		r.plan(b, *opts.Quant)
	}
	r.estimateMemory(b, opts.Tokens, opts.Batch)
}

// printSummary prints how many files there were of each class, if there were several.
func printSummary(s *run.Run) {
	if n := s.Count.Files.Total(); n > 1 && !s.Quiet && s.Out.Flush() == nil {
		fmt.Fprintf(s.Err, "amn: %s: %s\n", term.Plural(n, "file"), &s.Count.Files)
	}
}

// VerifyGated verifies the bodies of a model if --limits was given.
func VerifyGated(s *run.Run, b *limits.Budget, m tensor.Model) error {
	if !s.Policy.Verify {
		return nil
	}
	return parser.Verify(b, m)
}
