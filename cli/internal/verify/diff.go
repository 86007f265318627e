package verify

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/flags"
	"github.com/anamnesis-go/anamnesis/cli/internal/report"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/compare"
	"github.com/anamnesis-go/anamnesis/convert/forms"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Diff compares two models.
type Diff struct {
	First  string `arg:"" name:"first" help:"A file, a folder, ollama:NAME, or - for standard input."`
	Second string `arg:"" name:"second" help:"The second model."`

	compareFlags      `embed:"" group:"Comparison"`
	flags.TensorsFlag `embed:""`
}

// compareFlags decide what counts as equal.
type compareFlags struct {
	Values    bool   `help:"Compare numbers regardless of their type. Quantized weights are decoded."`
	Tolerance string `placeholder:"X|X%" help:"Compare numbers and accept a difference of X, absolute or relative to the larger one."`
	Limit     int    `default:"20" placeholder:"N" help:"Maximum number of differences to print, 0 for all (${default}). JSON has all."`
}

// Validate checks the flags.
func (f *compareFlags) Validate() error {
	_, err := f.options()
	if err == nil && f.Limit < 0 {
		return fmt.Errorf("--limit: %d is less than 0", f.Limit)
	}
	return err
}

func (f *compareFlags) options() (compare.Options, error) {
	o := compare.Options{Values: f.Values || f.Tolerance != ""}
	if f.Tolerance == "" {
		return o, nil
	}
	text, percent := strings.CutSuffix(f.Tolerance, "%")
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x >= 0) || x > 1e308 {
		return o, fmt.Errorf("--tolerance: %q is not a number such as 1e-6 or 0.1%%", f.Tolerance)
	}
	o.Tolerance = compare.Tolerance{Given: true, Absolute: x}
	if percent {
		o.Tolerance = compare.Tolerance{Given: true, Relative: x / 100}
	}
	return o, nil
}

func (Diff) Help() string {
	return `Two models are equal if their tensors have the same names, shapes, types and bits. Formats,
the order of tensors and metadata may differ. A transformers folder and a GGUF file are
compared under llama.cpp's names. Both models are read side by side in bounded memory. The exit
code is 0 if they are equal and 8 if not.

--values and --tolerance compare numbers. Then a NaN equals any NaN and nothing else, an
infinity equals only itself, and the two zeros are equal.`
}

func (Diff) Examples() []run.Example {
	return []run.Example{
		{Command: "amn diff model.safetensors sharded", What: "Are they the same?"},
		{Command: "amn diff --tolerance 1e-6 model.safetensors sharded", What: "Numbers may be a little off."},
		{Command: "amn diff --json --values model.safetensors sharded", What: "For a program: every tensor that differs."},
	}
}

// Run implements the command.
func (c *Diff) Run(ctx context.Context, s *run.Run) error {
	c.Grant(s)
	return diffModels(ctx, s, [2]string{c.First, c.Second}, &c.compareFlags, false)
}

// A side is one of the two models of a comparison.
type side struct {
	path  string
	err   error
	model tensor.Model
	size  int64 // bytes of its tensors
}

// diffModels compares two models. If verify is set, their bodies are verified first.
func diffModels(ctx context.Context, s *run.Run, paths [2]string, f *compareFlags, verify bool) error {
	o, err := f.options()
	if err != nil {
		return fault.Usage(err.Error())
	}
	b := s.Policy.Long().Budget(ctx)
	defer b.Close()
	d := &differ{s: s, limit: f.Limit}
	for i, path := range paths {
		d.sides[i] = openSide(ctx, s, b, path, verify)
		if m := d.sides[i].model; m != nil {
			defer m.Close()
		}
		if err, ok := errors.AsType[fault.Interrupted](d.sides[i].err); ok {
			return err
		}
	}
	d.matchNames(b)
	return d.run(b, o)
}

// matchNames gives a transformers folder the names of llama.cpp if the other side is a GGUF
// file of an architecture.
func (d *differ) matchNames(b *limits.Budget) {
	for i, one := range d.sides {
		other := d.sides[1-i]
		if one.model == nil || other.model == nil || one.err != nil || other.err != nil || other.model.Format() != gguf.Format || !forms.Stated(one.model) {
			continue
		}
		named, blocks := false, false
		for i := range other.model.Tensors() {
			blocks = blocks || i.DType == tensor.MXFP4 // experts of gpt-oss that were not decoded
		}
		for key := range other.model.Meta() {
			named = named || key == "general.architecture"
		}
		if !named {
			continue
		}
		m, err := forms.LlamaCPP{TensorsAlone: true, Blocks: blocks}.Model(b, one.model)
		if err != nil {
			one.err = err
			continue
		}
		one.model, one.size = m, 0
		for i := range m.Tensors() {
			one.size = wire.AddCap(one.size, i.Bytes())
		}
	}
}

func openSide(ctx context.Context, s *run.Run, b *limits.Budget, path string, verify bool) *side {
	d := &side{path: path}
	if path == "-" {
		src := s.Stdin(ctx)
		if d.err = src.Err; d.err == nil {
			d.model, d.err = src.Open(b)
		}
	} else {
		d.model, d.err = parser.Open(b, path)
	}
	if d.err != nil {
		return d
	}
	report.PrintSkipped(s, path, d.model)
	for i := range d.model.Tensors() {
		d.size = wire.AddCap(d.size, i.Bytes())
	}
	if verify || s.Policy.Verify {
		done := s.Progress("verifying "+term.Path(path), func() (int64, int64) { return parser.Progress(d.model) })
		d.err = parser.Verify(b, d.model)
		done()
	}
	return d
}

// A differ compares two models and prints the differences.
type differ struct {
	s       *run.Run
	sides   [2]*side
	limit   int
	printed int
	result  compare.Result
	err     error
}

func (d *differ) run(b *limits.Budget, o compare.Options) error {
	s := d.s
	for _, side := range d.sides {
		s.Count.Note(side.err)
	}
	print := d.printText
	if s.JSON {
		print = d.printJSON
	}
	if d.sides[0].err != nil || d.sides[1].err != nil {
		if s.JSON {
			if err := print(nil); err != nil {
				return err
			}
		}
		for _, side := range d.sides {
			if side.err != nil {
				s.PrintError(side.path, side.err)
			}
		}
		return nil
	}
	var read atomic.Int64
	o.Done = &read
	done := s.Progress("comparing", func() (int64, int64) { return read.Load(), d.sides[0].size })
	err := print(func(found func(*compare.Difference) error) {
		d.result, d.err = compare.Models(b, d.sides[0].model, d.sides[1].model, o, found)
	})
	done()
	if err == nil && d.err != nil {
		if err, ok := errors.AsType[fault.Interrupted](d.err); ok {
			return err
		}
		s.PrintError("", d.err)
	}
	s.Count.Note(d.err)
	if d.err == nil && d.result.Different > 0 {
		s.Count.Worst = max(s.Count.Worst, wire.Differs)
	}
	return err
}

// class returns the class of the result, which decides the exit code.
func (d *differ) class() wire.Class {
	worst := fault.ClassOf(d.err)
	for _, side := range d.sides {
		worst = max(worst, fault.ClassOf(side.err))
	}
	if worst == wire.OK && d.result.Different > 0 {
		return wire.Differs
	}
	return worst
}
