package view

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/flags"
	"github.com/anamnesis-go/anamnesis/cli/internal/report"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Parse lists tensors.
type Parse struct {
	flags.FileArgs    `embed:""`
	metadataFlags     `embed:""`
	flags.TensorsFlag `embed:""`

	Tensor []string `placeholder:"GLOB" help:"List only tensors whose name matches: * is any text, ? one character, [a-z] one of a range. Repeatable."`
	Sort   string   `default:"" enum:",file,name,size" placeholder:"file|name|size" help:"Order: by name with layer 2 before layer 10 (default for text), as in the file (default for JSON), or largest first."`
	Usage  bool     `help:"Print how much of each limit the file uses."`
	Pickle bool     `help:"List the instructions of a checkpoint's pickles, or of a plain pickle, instead."`
}

func (Parse) Help() string {
	return `Prints one line per tensor with name, type, shape and size, then the totals of each type. Shapes
begin with the outermost dimension, except for GGUF, where they have the order of its own tools.
Totals cover the listed tensors.`
}

func (Parse) Examples() []run.Example {
	return []run.Example{
		{Command: "amn parse model.safetensors", What: "Every tensor, layer by layer."},
		{Command: "amn parse --sort size --tensor '*.weight' model.safetensors", What: "The weights, the largest first."},
		{Command: "amn parse --pickle checkpoint.pt", What: "What its pickle does, instruction by instruction."},
		{Command: "amn parse --json weights.npz", What: "For a program: shapes, offsets, everything."},
	}
}

// Validate checks the flags.
func (c *Parse) Validate() error {
	tensors := len(c.Tensor) > 0 || c.Sort != "" || c.Usage
	switch {
	case c.Pickle && (tensors || c.enabled()):
		return errors.New("--pickle cannot be combined with --tensor, --sort, --usage, --metadata or --key")
	case c.enabled() && tensors:
		return errors.New("--metadata and --key cannot be combined with --tensor, --sort or --usage")
	}
	return nil
}

// Run implements the command.
func (c *Parse) Run(ctx context.Context, s *run.Run) (err error) {
	c.Grant(s)
	if c.Pickle {
		return listPickles(ctx, s, c.Paths)
	}
	if err := flags.Globs(c.Tensor).Check(); err != nil {
		return err
	}
	matched := len(c.Tensor) == 0
	defer func() {
		if err == nil && !matched && s.Count.Worst == wire.OK {
			err = fault.Usage("--tensor: no tensor name matches")
		}
	}()
	return report.Each(ctx, s, &c.FileArgs, report.Options{Usage: c.Usage}, func(r *report.Report) error {
		if c.enabled() {
			return c.print(ctx, s, r)
		}
		list := c.selectTensors(s, r)
		matched = matched || r.Total.Tensors > 0
		if s.JSON {
			return report.PrintJSON(s, "amn.parse/1", r, list)
		}
		if r.Err == nil && r.Total.Tensors == 0 && len(c.Tensor) > 0 {
			return report.PrintUsage(s, r) // of the file that has none of them
		}
		return report.PrintParse(s, r, list)
	})
}

// mostSorted is the largest number of tensors that are sorted by default.
const mostSorted = 200_000

// selectTensors returns the chosen tensors of a report in the chosen order, and makes the
// report's totals those of the chosen.
func (c *Parse) selectTensors(s *run.Run, r *report.Report) iter.Seq[tensor.Info] {
	all := report.TensorsOf(r)
	sort := cmp.Or(c.Sort, map[bool]string{true: "file", false: "name"}[s.JSON])
	switch {
	case r.Err != nil || len(c.Tensor) == 0 && sort == "file":
		return all
	case c.Sort == "" && len(c.Tensor) == 0 && r.Model.Len() > mostSorted:
		return all
	}
	var list []tensor.Info
	for i := range all {
		if flags.Globs(c.Tensor).Match(i.Name) {
			list = append(list, i)
		}
	}
	switch sort {
	case "name":
		slices.SortStableFunc(list, func(a, b tensor.Info) int { return wire.Natural(a.Name, b.Name) })
	case "size":
		slices.SortStableFunc(list, func(a, b tensor.Info) int { return cmp.Compare(b.Bytes(), a.Bytes()) })
	}
	picked := slices.Values(list)
	r.Sum(picked)
	return picked
}
