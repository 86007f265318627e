package verify

import (
	"context"
	"errors"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/flags"
	"github.com/anamnesis-go/anamnesis/cli/internal/judging"
	"github.com/anamnesis-go/anamnesis/cli/internal/report"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
)

// Verify reads whole files and checks them.
type Verify struct {
	flags.ListedArgs     `embed:""`
	judging.JudgingFlags `embed:"" group:"Judging"`

	Finite  bool   `help:"Decode all numbers, and refuse a model that contains NaN or an infinity (exit code 7)."`
	Against string `placeholder:"MODEL" help:"Compare the model with another one bit by bit, as amn diff does."`

	compareFlags `embed:"" group:"Comparison"`
	attestFlags  `embed:"" group:"Evidence"`
}

func (Verify) Help() string {
	return `Reads the header and all bodies: checksums of archives, the digest of every layer of an ollama
model, real lengths, texts. Formats without checksums, such as safetensors and npy, are only
checked against their rules. --against compares the tensors with those of a known good model;
the exit code is 8 if they differ.

--attestation checks files against a signed statement: of amn scan --attest, which says that a
gate accepted them, or of Model Signing (model.sig), with a key. The exit code is 7 if the
signature is not of that key, and 8 if the files differ.`
}

func (Verify) Examples() []run.Example {
	return []run.Example{
		{Command: "amn verify weights.npz", What: "Is it whole?"},
		{Command: "amn verify -r models", What: "Every model in a folder and below."},
		{Command: "amn verify --attestation model.att --key key.pub model.safetensors", What: "Is it what a gate has accepted?"},
		{Command: "amn verify --finite model.safetensors", What: "And is every number of it finite?"},
		{Command: "amn verify --output junit=verify.xml model.safetensors weights.npz", What: "With a report for a pipeline."},
		{Command: "amn verify --against model.safetensors sharded", What: "Is it equal to the other model?"},
	}
}

// Validate checks the flags.
func (c *Verify) Validate() error {
	if c.Against != "" && c.Finite {
		return errors.New("--finite and --against cannot be combined: run amn verify twice")
	}
	if c.Against == "" && (c.Values || c.Tolerance != "") {
		return errors.New("--values and --tolerance need --against")
	}
	if (c.Against != "" || c.Attestation != "") && c.Given() {
		return errors.New("--against and --attestation cannot be combined with the flags of reports")
	}
	if (c.Attestation == "") != (c.Key == "") {
		return errors.New("--attestation and --key need each other")
	}
	if c.Attestation != "" && (c.Against != "" || len(c.Paths) != 1 || c.Recursive || c.Paths[0] == "-") {
		return errors.New("--attestation checks one model or folder: name one")
	}
	return c.compareFlags.Validate()
}

// Run implements the command.
func (c *Verify) Run(ctx context.Context, s *run.Run) error {
	if c.Attestation != "" {
		return c.verifyClaim(ctx, s, c.Paths[0])
	}
	if c.Against != "" {
		if len(c.Paths) != 1 || c.Recursive {
			return fault.Usage("--against compares one model: name one")
		}
		return diffModels(ctx, s, [2]string{c.Against, c.Paths[0]}, &c.compareFlags, true)
	}
	return c.files(ctx, s)
}

// files verifies each model.
func (c *Verify) files(ctx context.Context, s *run.Run) error {
	ctx, j, err := c.Start(ctx, s, &c.ListedArgs)
	if err != nil {
		return err
	}
	defer j.Close()
	return j.Each(ctx, &c.ListedArgs, report.Options{Verify: true, Finite: c.Finite}, "amn.verify/1", func(r *report.Report) error {
		if r.Err == nil {
			finite := ""
			if c.Finite {
				finite = ", all numbers finite"
			}
			s.Out.Prose(4, "%s: %s, %s, %s, data %s%s", term.Path(r.Path), report.ViewOf(r.Model).Title,
				term.Plural(r.Total.Tensors, "tensor"), term.Bytes(r.Total.Bytes), report.DataWords(r.Bodies()), finite)
		}
		return nil
	})
}
