package judging

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
	"github.com/anamnesis-go/anamnesis/cli/internal/report"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// JudgingFlags are the flags of inspect and verify that make them a step of a pipeline.
type JudgingFlags struct {
	FailOn string `default:"" enum:",danger,warning,note,never" placeholder:"SEVERITY" help:"Refuse files with a finding of at least this severity: danger, warning, note, or never (the default; the policy's own setting is for amn scan)."`

	ReportFlags   `embed:""`
	PipelineFlags `embed:""`
}

// Given reports whether one of the flags was given.
func (f *JudgingFlags) Given() bool {
	return f.FailOn != "" || f.Format != "text" || len(f.Output) > 0 || f.FilesFrom != "" || len(f.Exclude) > 0 || f.Baseline != "" || f.TotalTimeout != ""
}

// A Run is one run of such a command.
type Run struct {
	s       *run.Run
	flags   *JudgingFlags
	gate    gate.Gate
	Reports Reports
	outputs []disk.Output
	stop    context.CancelFunc
}

// Start reads the flags, and the list of files of --files-from.
func (f *JudgingFlags) Start(ctx context.Context, s *run.Run, args *flags.ListedArgs) (context.Context, *Run, error) {
	if f.FilesFrom == "" && len(args.Paths) == 0 {
		return nil, nil, fault.Usage("name a file: files, folders, ollama:NAME, or - for standard input; or a list of them with --files-from")
	}
	if f.FilesFrom != "" && len(args.Paths) > 0 {
		return nil, nil, fault.Usage("name files or folders, or a list of them with --files-from, not both")
	}
	ctx, stop, err := f.WithTotalTimeout(ctx)
	if err != nil {
		return nil, nil, err
	}
	j := &Run{s: s, flags: f, stop: stop}
	if err := j.open(args); err != nil {
		j.Close()
		return nil, nil, err
	}
	return ctx, j, nil
}

func (j *Run) open(args *flags.ListedArgs) (err error) {
	j.gate = gate.Gate{Policy: j.s.Policy.Gate, Today: time.Now().UTC().Format(time.DateOnly)}
	on, ok := gate.ParseFailOn(j.flags.FailOn)
	if !ok { // fail_on of a policy is for scans
		on = gate.FailNever
	}
	j.gate.Policy.FailOn = on
	j.gate.Policy.Everywhere("fail_on")
	if err := j.flags.Apply(&j.gate); err != nil {
		return err
	}
	j.gate.Digest = NeedsDigest(&j.gate.Policy) || j.flags.WritesBaseline()
	if j.flags.FilesFrom != "" {
		if args.Paths, err = j.flags.ReadList(j.s); err != nil {
			return err
		}
	}
	j.outputs, err = j.flags.Outputs()
	if err == nil {
		err = disk.Check(j.outputs, append(j.flags.Inputs(), args.Paths...), args.Paths, j.flags.Force)
	}
	if err != nil {
		return err
	}
	return j.Reports.Open(j.s, &j.flags.ReportFlags, disk.GuardOf(args.Paths))
}

// NeedsDigest reports whether an exception of the policy identifies its file by digest.
func NeedsDigest(p *gate.Policy) bool {
	return slices.ContainsFunc(p.Ignore, func(e gate.Exception) bool { return e.SHA256 != "" })
}

// Close closes the reports, which are incomplete after an error.
func (j *Run) Close() {
	j.Reports.Abandon()
	j.stop()
}

// Each reports about every model, as report.Each does, with the gate's verdict.
func (j *Run) Each(ctx context.Context, args *flags.ListedArgs, opts report.Options, schema string, text func(*report.Report) error) error {
	s := j.s
	opts.Judge, opts.Exclude = j.judge, j.exclude(args.Paths)
	print := func(r *report.Report) error {
		json := func(w *bufio.Writer) { report.Write(w, schema, r, report.TensorsOf(r)) }
		if err := j.Reports.Add(r.Path, r.Verdict, json); err != nil {
			return err
		}
		switch {
		case j.Reports.Print:
			return nil
		case s.JSON:
			json(s.Out.Writer)
			return nil
		}
		return text(r)
	}
	err := report.Each(ctx, s, &flags.FileArgs{Paths: args.Paths, Recursive: args.Recursive}, opts, print)
	for _, path := range args.Paths {
		for _, name := range disk.OutputsBelow(j.outputs, path).Names() {
			one := run.Source{Path: filepath.Join(path, filepath.FromSlash(name)), Err: wire.At("scan", "", wire.NoOffset, wire.ErrUnsupported.Errorf("%s", NotJudged))}
			err = errors.Join(err, report.One(ctx, s, one, opts, true, print))
		}
	}
	if len(args.Paths) == 0 {
		PrintNothingJudged(s, nil)
	}
	return errors.Join(err, j.Reports.Close())
}

// exclude returns the filter of names in folders: --exclude, and the outputs of this run.
func (j *Run) exclude(paths []string) func(string) bool {
	all := j.gate.Exclude
	for _, path := range paths {
		all = disk.OutputsBelow(j.outputs, path).Exclude(all)
	}
	return all
}

// judge asks the gate about a model that was opened, or about the error.
func (j *Run) judge(b *limits.Budget, r *report.Report) (err error) {
	var file io.ReaderAt
	var size int64
	if j.gate.Digest && r.Path != "-" {
		dir, name := filepath.Split(r.Path)
		if h, err := tensor.OpenFile(disk.Dir(filepath.Clean(dir)), name); err == nil {
			defer h.Close()
			file, size = h, h.Size
		}
	}
	name := r.Name
	if name == "" {
		name = filepath.Base(r.Path)
	}
	r.Verdict, err = j.gate.CheckOpened(b, name, r.Model, r.Err, file, size)
	if err != nil {
		return err
	}
	if r.Verdict.Err != nil {
		r.Err = r.Verdict.Err
	}
	return nil
}

// NotJudged is why an output that --force allows in a judged folder has no verdict.
const NotJudged = "an output of this run, so it was not judged"

// PrintNothingJudged prints the error that no file was judged.
func PrintNothingJudged(s *run.Run, paths []string) {
	err := wire.At("scan", "", wire.NoOffset, wire.ErrUnsupported.Errorf("it is neither a tensor file nor a pickle, so nothing was judged"))
	path := ""
	if len(paths) == 1 {
		path = paths[0]
	}
	s.PrintError(path, err)
	s.Count.Note(err)
}
