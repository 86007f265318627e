package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/anamnesis-go/anamnesis/cli/internal/disk"
	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/flags"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// judgingFlags are the flags of inspect and verify that make them a step of a pipeline.
type judgingFlags struct {
	FailOn string `default:"" enum:",danger,warning,note,never" placeholder:"SEVERITY" help:"Refuse files with a finding of at least this severity: danger, warning, note, or never (the default; the policy's own setting is for amn scan)."`

	reportFlags   `embed:""`
	pipelineFlags `embed:""`
}

// given reports whether one of the flags was given.
func (f *judgingFlags) given() bool {
	return f.FailOn != "" || f.Format != "text" || len(f.Output) > 0 || f.FilesFrom != "" || len(f.Exclude) > 0 || f.Baseline != "" || f.TotalTimeout != ""
}

// A judgingRun is one run of such a command.
type judgingRun struct {
	s       *run.Run
	flags   *judgingFlags
	gate    gate.Gate
	reports reports
	outputs []disk.Output
	stop    context.CancelFunc
}

// start reads the flags, and the list of files of --files-from.
func (f *judgingFlags) start(ctx context.Context, s *run.Run, args *flags.ListedArgs) (context.Context, *judgingRun, error) {
	if f.FilesFrom == "" && len(args.Paths) == 0 {
		return nil, nil, fault.Usage("name a file: files, folders, ollama:NAME, or - for standard input; or a list of them with --files-from")
	}
	if f.FilesFrom != "" && len(args.Paths) > 0 {
		return nil, nil, fault.Usage("name files or folders, or a list of them with --files-from, not both")
	}
	ctx, stop, err := f.withTotalTimeout(ctx)
	if err != nil {
		return nil, nil, err
	}
	j := &judgingRun{s: s, flags: f, stop: stop}
	if err := j.open(args); err != nil {
		j.close()
		return nil, nil, err
	}
	return ctx, j, nil
}

func (j *judgingRun) open(args *flags.ListedArgs) (err error) {
	j.gate = gate.Gate{Policy: j.s.Policy.Gate, Today: time.Now().UTC().Format(time.DateOnly)}
	on, ok := gate.ParseFailOn(j.flags.FailOn)
	if !ok { // fail_on of a policy is for scans
		on = gate.FailNever
	}
	j.gate.Policy.FailOn = on
	j.gate.Policy.Everywhere("fail_on")
	if err := j.flags.apply(&j.gate); err != nil {
		return err
	}
	j.gate.Digest = needsDigest(&j.gate.Policy) || j.flags.writesBaseline()
	if j.flags.FilesFrom != "" {
		if args.Paths, err = j.flags.readList(j.s); err != nil {
			return err
		}
	}
	j.outputs, err = j.flags.outputs()
	if err == nil {
		err = disk.Check(j.outputs, append(j.flags.inputs(), args.Paths...), args.Paths, j.flags.Force)
	}
	if err != nil {
		return err
	}
	return j.reports.open(j.s, &j.flags.reportFlags, disk.GuardOf(args.Paths))
}

// needsDigest reports whether an exception of the policy identifies its file by digest.
func needsDigest(p *gate.Policy) bool {
	return slices.ContainsFunc(p.Ignore, func(e gate.Exception) bool { return e.SHA256 != "" })
}

// close closes the reports, which are incomplete after an error.
func (j *judgingRun) close() {
	j.reports.abandon()
	j.stop()
}

// each reports about every model, as session.eachModel does, with the gate's verdict.
func (j *judgingRun) each(ctx context.Context, args *flags.ListedArgs, opts reportOptions, schema string, text func(*report) error) error {
	s := j.s
	opts.judge, opts.exclude = j.judge, j.exclude(args.Paths)
	print := func(r *report) error {
		json := func(w *bufio.Writer) { writeJSON(w, schema, r, tensorsOf(r)) }
		if err := j.reports.add(r.path, r.verdict, json); err != nil {
			return err
		}
		switch {
		case j.reports.print:
			return nil
		case s.JSON:
			json(s.Out.Writer)
			return nil
		}
		return text(r)
	}
	err := eachModel(ctx, s, &flags.FileArgs{Paths: args.Paths, Recursive: args.Recursive}, opts, print)
	for _, path := range args.Paths {
		for _, name := range disk.OutputsBelow(j.outputs, path).Names() {
			one := run.Source{Path: filepath.Join(path, filepath.FromSlash(name)), Err: wire.At("scan", "", wire.NoOffset, wire.ErrUnsupported.Errorf("%s", notJudged))}
			err = errors.Join(err, reportOne(ctx, s, one, opts, true, print))
		}
	}
	if len(args.Paths) == 0 {
		printNothingJudged(s, nil)
	}
	return errors.Join(err, j.reports.close())
}

// exclude returns the filter of names in folders: --exclude, and the outputs of this run.
func (j *judgingRun) exclude(paths []string) func(string) bool {
	all := j.gate.Exclude
	for _, path := range paths {
		all = disk.OutputsBelow(j.outputs, path).Exclude(all)
	}
	return all
}

// judge asks the gate about a model that was opened, or about the error.
func (j *judgingRun) judge(b *limits.Budget, r *report) (err error) {
	var file io.ReaderAt
	var size int64
	if j.gate.Digest && r.path != "-" {
		dir, name := filepath.Split(r.path)
		if h, err := tensor.OpenFile(disk.Dir(filepath.Clean(dir)), name); err == nil {
			defer h.Close()
			file, size = h, h.Size
		}
	}
	name := r.name
	if name == "" {
		name = filepath.Base(r.path)
	}
	r.verdict, err = j.gate.CheckOpened(b, name, r.model, r.err, file, size)
	if err != nil {
		return err
	}
	if r.verdict.Err != nil {
		r.err = r.verdict.Err
	}
	return nil
}
