package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// listedArgs are the arguments of a command whose files a list may name.
type listedArgs struct {
	Paths     []string `arg:"" optional:"" name:"path" help:"Files, folders, ollama:NAME, or - for standard input."`
	Recursive bool     `short:"r" help:"Include subfolders."`
}

// judgingFlags make a command that opens models a step of a pipeline.
type judgingFlags struct {
	FailOn string `enum:"danger,warning,note,never" placeholder:"SEVERITY" help:"Refuse files with a finding of at least this severity: danger, warning, note, or never (the default; the policy's own setting is for amn scan)."`

	reportFlags   `embed:""`
	pipelineFlags `embed:""`
}

// asks reports a flag that was given, for what has none of them.
func (f *judgingFlags) asks() bool {
	return f.FailOn != "" || f.Format != "text" || len(f.Output) > 0 || f.FilesFrom != "" || len(f.Exclude) > 0 || f.Baseline != "" || f.TotalTimeout != ""
}

// judging is one run of such a command.
type judging struct {
	s       *session
	flags   *judgingFlags
	gate    gate.Gate
	reports reports
	stop    context.CancelFunc
}

// judging reads the flags, and the list of files that they name.
func (f *judgingFlags) judging(ctx context.Context, s *session, args *listedArgs) (context.Context, *judging, error) {
	if (f.FilesFrom == "") == (len(args.Paths) == 0) {
		return nil, nil, usage{"name files or folders, or a list of them with --files-from, not both"}
	}
	ctx, stop, err := f.within(ctx)
	if err != nil {
		return nil, nil, err
	}
	j := &judging{s: s, flags: f, stop: stop}
	if err := j.open(args); err != nil {
		j.close()
		return nil, nil, err
	}
	return ctx, j, nil
}

func (j *judging) open(args *listedArgs) (err error) {
	j.gate = gate.Gate{Policy: j.s.gatePolicy, Today: time.Now().UTC().Format(time.DateOnly)}
	on, ok := gate.ParseFailOn(j.flags.FailOn)
	if !ok { // a policy says what fails a scan
		on = gate.FailNever
	}
	j.gate.Policy.FailOn = on
	j.gate.Policy.Everywhere("fail_on")
	if err := j.flags.lay(&j.gate); err != nil {
		return err
	}
	j.gate.Digest = asksDigest(&j.gate.Policy) || j.flags.keeps()
	if j.flags.FilesFrom != "" {
		if args.Paths, err = j.flags.list(j.s); err != nil {
			return err
		}
	}
	outputs, err := j.flags.outputs()
	if err == nil {
		err = checkOutputs(outputs, append(j.flags.inputs(), args.Paths...))
	}
	if err != nil {
		return err
	}
	return j.reports.open(j.s, &j.flags.reportFlags)
}

// asksDigest reports an exception that is for the file of a digest.
func asksDigest(p *gate.Policy) bool {
	return slices.ContainsFunc(p.Ignore, func(e gate.Exception) bool { return e.SHA256 != "" })
}

// close ends the reports as they are.
func (j *judging) close() {
	j.reports.abandon()
	j.stop()
}

// each reports about every model, as session.each does, with what the gate says of it.
func (j *judging) each(ctx context.Context, args *listedArgs, opts reportOptions, schema string, text func(*report) error) error {
	s := j.s
	opts.judge, opts.exclude = j.judge, j.gate.Exclude
	err := s.each(ctx, &fileArgs{args.Paths, args.Recursive}, opts, func(r *report) error {
		json := func(w *bufio.Writer) { writeJSON(w, schema, r, tensorsOf(r)) }
		if err := j.reports.add(r.path, r.verdict, json); err != nil {
			return err
		}
		switch {
		case j.reports.print:
			return nil
		case s.json:
			json(s.out)
			return nil
		}
		return text(r)
	})
	if len(args.Paths) == 0 {
		s.nothing(nil)
	}
	return errors.Join(err, j.reports.close())
}

// judge asks the gate about a model that was opened, or why it was not.
func (j *judging) judge(b *limits.Budget, r *report) (err error) {
	var file io.ReaderAt
	var size int64
	if j.gate.Digest && r.path != "-" {
		dir, name := filepath.Split(r.path)
		if h, err := tensor.OpenFile(localDir(filepath.Clean(dir)), name); err == nil {
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
