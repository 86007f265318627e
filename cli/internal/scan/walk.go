package scan

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/anamnesis-go/anamnesis/cli/internal/disk"
	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/judging"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/limits"
)

// scanPath scans the files of an argument. If --total-timeout ends the scan, the result of
// the argument is that limit.
func (sc *scanner) scanPath(ctx context.Context, path string) error {
	err := sc.scanNamed(ctx, path)
	if late, ok := errors.AsType[*fault.OutOfTime](err); ok {
		return sc.report(context.WithoutCancel(ctx), &scanReport{Verdict: sc.gate.Failed(path, late), path: path, given: true})
	}
	return err
}

func (sc *scanner) scanNamed(ctx context.Context, path string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if path == "-" {
		return sc.stdin(ctx)
	}
	// The budget of a walk has no deadline, because each file has its own. Connecting, listing and
	// reading what an address names are one operation, and have one.
	p, remote := sc.gate.Policy.Limits, sc.s.RemoteFiles != nil && run.IsAddress(path)
	if !remote {
		p.Timeout = limits.NoTimeout
	}
	if !remote {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			err = fault.Missing(path, err)
			return sc.report(ctx, &scanReport{Verdict: sc.gate.Failed(path, err), path: path, given: true})
		}
	}
	b := p.Budget(ctx)
	defer b.Close()
	g := sc.gate
	own := disk.OutputsBelow(sc.outputs, path)
	g.Exclude = own.Exclude(g.Exclude)
	all := g.CheckPath(b, path)
	if remote {
		files, name, err := sc.s.RemoteFiles(ctx, b, path)
		if err != nil {
			return sc.report(ctx, &scanReport{Verdict: sc.gate.Failed(path, err), path: path, given: true})
		}
		all = sc.gate.CheckFS(b, files, name, path)
	}
	for v, err := range all {
		if err != nil {
			return err
		}
		if v.Excluded && own.Has(v.Name) {
			continue
		}
		if err := sc.report(ctx, &scanReport{Verdict: v, path: v.Path, given: v.Path == path && !sc.gate.Beside}); err != nil {
			return err
		}
	}
	for _, name := range own.Names() {
		if err := sc.report(ctx, &scanReport{Verdict: sc.gate.Unseen(name, judging.NotJudged), path: filepath.Join(path, filepath.FromSlash(name))}); err != nil {
			return err
		}
	}
	return nil
}

// stdin scans standard input.
func (sc *scanner) stdin(ctx context.Context) error {
	s := sc.s
	failed := func(err error) error {
		return sc.report(ctx, &scanReport{Verdict: sc.gate.Failed("-", err), path: "-", given: true})
	}
	if s.StdinTaken {
		return failed(fault.Usage("standard input can be read only once"))
	}
	s.StdinTaken = true
	r, size, closer, err := s.Input(ctx)
	if err != nil {
		return failed(err)
	}
	defer closer.Close()
	b := sc.gate.Policy.Limits.Budget(ctx)
	defer b.Close()
	v, err := sc.gate.Check(b, r, size, gate.Hint{Name: "-"})
	if err != nil {
		return err
	}
	return sc.report(ctx, &scanReport{Verdict: v, path: "-", given: true})
}
