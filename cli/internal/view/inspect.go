package view

import (
	"context"
	"errors"

	"github.com/anamnesis-go/anamnesis/cli/internal/flags"
	"github.com/anamnesis-go/anamnesis/cli/internal/judging"
	"github.com/anamnesis-go/anamnesis/cli/internal/report"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
)

// Inspect prints summaries of files.
type Inspect struct {
	flags.ListedArgs     `embed:""`
	judging.JudgingFlags `embed:"" group:"Judging"`
	flags.PlanFlags      `embed:""`
	wireFlags            `embed:""`

	flags.TensorsFlag `embed:""`

	flags.SandboxFlags `embed:""`

	Verify  bool   `help:"Also read the data of all tensors: checksums, real lengths, text."`
	Usage   bool   `help:"Print how much of each limit the file uses."`
	Context string `placeholder:"TOKENS" help:"Estimate the memory for weights and cache with this many tokens (8192, 8k, 1m), from config.json or the keys of a GGUF file."`
	Batch   string `placeholder:"N" default:"1" help:"With --context: for this many sequences at once."`
	HTML    string `name:"html" placeholder:"FILE" help:"Write a page for a browser instead, with the verdict of a scan: one file that needs no network."`
}

func (Inspect) Help() string {
	return `Reads the header and proves that every tensor lies inside the file. No tensor data is read
without --verify or --limits, except the few tensors that describe how weights are quantized.
--to sets the type for which decoded sizes are printed. The exit code is the class of the worst
file: 0 ok, 1 I/O or internal, 2 usage, 3 malformed, 4 truncated, 5 unsupported, 6 limit, 7
forbidden. Reports (--format, --output), exceptions and --baseline are those of amn scan, which
reads whole files and so finds more.`
}

func (Inspect) Examples() []run.Example {
	return []run.Example{
		{Command: "amn inspect model.safetensors", What: "What is in it, from its header alone."},
		{Command: "amn inspect --verify weights.npz", What: "The same, and every checksum."},
		{Command: "amn inspect --limits strict --json upload.npz", What: "A verdict for a program; exit 0 is accepted."},
		{Command: "amn inspect --to f32 tiny.gguf", What: "What it stores, and its size in full precision."},
		{Command: "cat weights.npz | amn inspect -", What: "From a pipe."},
		{Command: "amn inspect --context 8192 --batch 4 llama-fp8", What: "What it takes in memory while it runs."},
		{Command: "amn inspect -r models", What: "Every model in a folder and below."},
		{Command: "amn inspect --fail-on warning --output sarif=inspect.sarif --output junit=inspect.xml model.safetensors", What: "As a step of a pipeline, with reports for it."},
		{Command: "amn inspect --html report.html model.safetensors", What: "As a page, to look at or to pass on."},
	}
}

// Validate checks the flags.
func (c *Inspect) Validate() error {
	switch {
	case c.Wire && (c.HTML != "" || c.Verify || c.Usage || c.Context != ""):
		return errors.New("--wire cannot be combined with --html, --verify, --usage or --context")
	case c.HTML != "" && (c.Usage || c.Context != ""):
		return errors.New("--html cannot be combined with --usage or --context")
	case (c.HTML != "" || c.Wire) && c.Given():
		return errors.New("--html and --wire cannot be combined with the flags of reports")
	case c.Context == "" && c.Batch != "1":
		return errors.New("--batch needs --context")
	}
	return nil
}

// Run implements the command.
func (c *Inspect) Run(ctx context.Context, s *run.Run) error {
	c.Grant(s)
	ctx, j, err := c.Start(ctx, s, &c.ListedArgs)
	if err != nil {
		return err
	}
	defer j.Close()
	page, err := c.openPage()
	if err != nil {
		return err
	}
	defer page.Discard()
	needs := flags.PathsToRead(c.Paths, true)
	needs.Publish = append(j.Reports.Folders(), page.Folders()...)
	if err := c.Lock(s, needs, c.Paths...); err != nil {
		return err
	}
	if page != nil {
		return writePage(ctx, s, c, page)
	}
	tokens, batch, err := c.memorySizes()
	if err != nil {
		return err
	}
	if c.Wire {
		return dumpFiles(ctx, s, c.Paths)
	}
	opts := report.Options{Verify: c.Verify, Usage: c.Usage, Quant: c.Options(), Tokens: tokens, Batch: batch, Choice: true}
	return j.Each(ctx, &c.ListedArgs, opts, "amn.inspect/1", func(r *report.Report) error { return report.PrintInspect(s, r) })
}
