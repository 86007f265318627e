package scan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/cli/internal/disk"
	"github.com/anamnesis-go/anamnesis/cli/internal/flags"
	"github.com/anamnesis-go/anamnesis/cli/internal/judging"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/polyglot"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// Scan judges files: whether they are valid, and what they make a loader do.
type Scan struct {
	Paths    []string `arg:"" optional:"" name:"path" help:"Files and folders, or - for standard input."`
	All      bool     `help:"List every global, call, state and persistent id, including allowed ones."`
	FailOn   string   `default:"" enum:",danger,warning,note,never" placeholder:"SEVERITY" help:"Refuse files with a finding of at least this severity: danger (the default, unless the policy sets another), warning, note, or never."`
	Unlooked string   `default:"" enum:",refuse,report" placeholder:"refuse" help:"What to do with a file of a folder that could hold a model but cannot be examined: refuse it (exit code 5), or report it and continue."`
	Digest   bool     `help:"Print the SHA-256 of each file. This reads every body."`
	Unread   bool     `help:"With --json, list for each pickle the parts that the verdict does not depend on, which are numbers of arrays, and the SHA-256 of the rest: for programs that load what was judged."`
	Beside   bool     `help:"Treat named files like those of a folder: skip a file that cannot be a model."`

	judging.ReportFlags   `embed:"" group:"Reports"`
	judging.PipelineFlags `embed:"" group:"Which files"`
	evidenceFlags         `embed:"" group:"Evidence"`
	flags.SandboxFlags    `embed:"" group:"Sandbox"`
}

func (Scan) Help() string {
	return `Reads the structure of each file, every pickle to its end without calling anything, and the
bodies that have a checksum in their format (ZIP). safetensors and GGUF have none, so their
bodies are read only for --digest. Each global that a pickle names is allowed, dangerous (with
the reason), or unknown; both of the latter are refused. There are two verdicts: safe (ours), and
weights_only (that of PyTorch's restricted loader).

In a folder, a file is judged if its content or its name is that of a tensor file, a pickle file or
an index of shards. A file is skipped if its content proves that no loader takes it for a model,
whatever its name: ` + strings.Join(polyglot.Rules(), ", ") + `.
Wrappers of models are opened layer by layer: ` + strings.Join(gate.Wrappers(), ", ") + `. Each content
is judged by itself, under a name such as outer.tar.gz!inner/model.bin. Any other file could
contain a model and is refused as not looked at: other archives and compressed data, other formats,
links that leave the folder, special files. Links named on the command line are followed.
Files of a list (--files-from) are judged like those of a folder. If all of them are read and
skipped, such as the texts of a commit, there is no model to refuse, and the exit code is 0. Plain
pickles (.pkl, joblib) are judged like checkpoints, ONNX models (.onnx) and HDF5 files by their
structure.

A finding of severity danger refuses a file (exit code 7), such as a chat template that reaches
into its interpreter; --fail-on chooses another severity. A policy file (--limits) can set both,
and exceptions ("ignore") with a rule of amn rules, a path or sha256, a reason, and a last day
("expires"). The exit code is the class of the worst file; it is 5 if there was nothing to judge: no
model in what is named, or an empty list.`
}

func (Scan) Examples() []run.Example {
	return []run.Example{
		{Command: "amn scan checkpoint.pt", What: "Is it safe to load, and what does it ask for?"},
		{Command: "amn scan --all checkpoint.pt", What: "Everything that it asks for, with places."},
		{Command: "amn scan --json --quiet models", What: "A verdict for every file of a folder, for a program."},
		{Command: "amn scan --output sarif=scan.sarif --output junit=scan.xml models", What: "Reports for a pipeline, in addition to the text."},
		{Command: "amn scan --output html=scan.html models", What: "A page for people: what was refused, why, and how it is mended."},
		{Command: "amn scan --files-from list.txt", What: "Files that a list names, such as those of a change."},
		{Command: "amn scan --output baseline=known.json models", What: "What is refused today..."},
		{Command: "amn scan --baseline known.json models", What: "... and what is new since."},
		{Command: "amn scan --bom models.cdx.json models", What: "What is in them, to the tensor."},
		{Command: "amn scan --attest model.att --key key.pem model.safetensors", What: "A verdict that others can check."},
		{Command: "amn scan --unlooked report models", What: "For people: archives next to a model do not fail the scan."},
	}
}

// Run implements the command.
func (c *Scan) Run(ctx context.Context, s *run.Run) error {
	defer garbage.begin()()
	ctx, stop, err := c.WithTotalTimeout(ctx)
	if err != nil {
		return err
	}
	defer stop()
	sc := &scanner{s: s, all: c.All, unread: c.Unread}
	if sc.gate, err = c.gate(s); err != nil {
		return err
	}
	paths := c.Paths
	sc.gate.Beside = c.Beside || c.FilesFrom != ""
	if c.FilesFrom != "" {
		if paths, err = c.ReadList(s); err != nil {
			return err
		}
	}
	outputs, err := c.ReportFlags.Outputs()
	if err != nil {
		return err
	}
	sc.outputs = append(outputs, c.evidenceFlags.outputs()...)
	if err := disk.Check(sc.outputs, append(c.Inputs(), append(slices.Clone(paths), c.Key)...), paths, c.Force); err != nil {
		return err
	}
	defer sc.reports.Abandon()
	if err := sc.reports.Open(s, &c.ReportFlags, disk.GuardOf(paths)); err != nil {
		return err
	}
	sc.evidence = evidence{flags: &c.evidenceFlags, s: s}
	defer sc.evidence.abandon()
	if err := sc.evidence.open(&sc.gate, paths, c.Force); err != nil {
		return err
	}
	needs := flags.PathsToRead(paths, false)
	needs.Publish = append(sc.reports.Folders(), sc.evidence.folders()...)
	if err := c.Lock(s, needs, paths...); err != nil {
		return err
	}
	for _, p := range paths {
		if err := sc.scanPath(ctx, p); err != nil {
			return err
		}
	}
	if err := errors.Join(sc.reports.Close(), sc.evidence.close()); err != nil {
		return err
	}
	return sc.finish(paths)
}

// Validate checks the flags.
func (c *Scan) Validate() error {
	switch {
	case c.FilesFrom == "" && len(c.Paths) == 0:
		return errors.New("name a file: files, folders, or - for standard input; or a list of them with --files-from")
	case c.FilesFrom != "" && len(c.Paths) > 0:
		return errors.New("--files-from replaces file arguments: give one or the other")
	}
	return c.check(c.Paths, &c.PipelineFlags)
}

// gate returns the gate of the policy, with the flags applied.
func (c *Scan) gate(s *run.Run) (gate.Gate, error) {
	g := gate.Gate{Policy: s.Policy.Gate, Today: time.Now().UTC().Format(time.DateOnly)}
	if on, ok := gate.ParseFailOn(c.FailOn); ok {
		g.Policy.FailOn = on
		g.Policy.Everywhere("fail_on")
	}
	if c.Unlooked != "" {
		g.Policy.ReportUnlooked = c.Unlooked == "report"
		g.Policy.Everywhere("unlooked")
	}
	err := c.Apply(&g)
	g.Digest = c.Digest || judging.NeedsDigest(&g.Policy) || c.WritesBaseline()
	return g, err
}

// A scanner is one run of the command.
type scanner struct {
	s        *run.Run
	all      bool
	unread   bool
	gate     gate.Gate
	reports  judging.Reports
	evidence evidence
	outputs  []disk.Output
	skipped  int64
	unlooked int64
	texts    int64 // of the counted files, those that are texts beside a model
	count    run.Classes
}

// finish prints how many files there were of each class.
func (sc *scanner) finish(paths []string) error {
	s := sc.s
	judged := sc.count.Total()
	if judged == sc.texts && sc.count[wire.OK] == judged && !(sc.gate.Beside && len(paths) > 0) {
		judging.PrintNothingJudged(s, paths)
		return nil
	}
	if s.Quiet || judged+sc.skipped == 1 {
		return nil
	}
	text := fmt.Sprintf("amn: %s judged: %s", term.Plural(judged, "file"), &sc.count)
	if judged == 0 && sc.unlooked == 0 {
		text = fmt.Sprintf("amn: no model among %s", term.Plural(sc.skipped, "file"))
	} else if sc.skipped > 0 {
		text += fmt.Sprintf("; %s skipped", term.Count(sc.skipped))
	}
	if sc.unlooked > 0 {
		text += fmt.Sprintf("; %s not looked at", term.Count(sc.unlooked))
	}
	if err := s.Out.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(s.Err, text)
	return nil
}
