package write

import (
	"context"
	"os"
	"path/filepath"

	"github.com/anamnesis-go/anamnesis/cli/internal/disk"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/merge"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Merge merges models.
type Merge struct {
	Recipe string `arg:"" name:"recipe" help:"A JSON file with the members of mergekit's YAML."`
	Models string `placeholder:"DIR" help:"The folder of the recipe's models (default: the folder of the recipe)."`

	outFlags     `embed:"" group:"Output"`
	MaxShardSize string `placeholder:"SIZE" help:"Write a folder of safetensors files of at most this size each (default: as many files as the first model has)."`
	CopyCode     bool   `help:"Also copy .py files, which auto_map in config.json may run."`
}

func (Merge) Help() string {
	return `Makes one model of several that have the same tensors: linear, slerp, task_arithmetic, ties,
dare_linear, dare_ties, or passthrough of layers. Methods, parameters and defaults are those of
mergekit. Numbers are computed in float32 and rounded once. Random choices depend only on the recipe's seed and
are the same on every machine; they differ from torch's.

The first model, or the base if there is one, gives the configuration, the tokenizer and the
types (dtype or out_dtype chooses another type). A recipe with members or parameters that its method does
not take is refused, and so are models whose tensors differ in names or shapes.`
}

func (Merge) Examples() []run.Example {
	return []run.Example{{Command: "amn merge recipe.json -o blend", What: "Merge the models that recipe.json names: writes the folder blend."}}
}

// Validate checks the flags.
func (c *Merge) Validate() error { return c.writeFlagsFor(c.Recipe, c.MaxShardSize).Validate() }

// Run implements the command.
func (c *Merge) Run(ctx context.Context, s *run.Run) error {
	flags := c.writeFlagsFor(c.Recipe, c.MaxShardSize)
	flags.CopyCode = c.CopyCode
	return convertModel(ctx, s, &conversion{
		schema: "amn.convert/1", verb: "merging", flags: flags, opts: convert.Options{AsIs: true},
		source: func(b *limits.Budget, o *conversion) error { return c.open(ctx, b, s, o) },
		target: mergedName,
	})
}

// open opens the models of the recipe and merges them.
func (c *Merge) open(ctx context.Context, b *limits.Budget, s *run.Run, o *conversion) error {
	text, err := disk.ReadText(b, c.Recipe)
	if err != nil {
		return err
	}
	recipe, err := merge.ReadRecipe(b, text)
	if err != nil {
		return err
	}
	dir := c.Models
	if dir == "" {
		dir = filepath.Dir(c.Recipe)
	}
	out := &merged{what: "model"}
	var files map[int32]int64
	m, err := merge.Merge(b, recipe, func(name string) (tensor.Model, error) {
		if !filepath.IsLocal(name) || run.IsAddress(name) {
			return nil, wire.At("recipe", "model "+wire.Quote(name), wire.NoOffset, wire.ErrUnsupported.Errorf("it is not a path below %s; choose the folder with --models", wire.Quote(dir)))
		}
		w := conversionState{path: filepath.Join(dir, filepath.FromSlash(name))}
		if err := openSource(ctx, s, b, &w, ""); err != nil {
			return nil, withPath(w.path, err)
		}
		if len(out.sources) == 0 {
			info, err := os.Stat(w.path)
			o.opts.Alone, files = err != nil || !info.IsDir(), partSizes(w.model)
		}
		out.sources = append(out.sources, w.path)
		o.opts.Guard = append(o.opts.Guard, disk.GuardOf([]string{w.path})...)
		return w.model, nil
	})
	if err != nil {
		return err
	}
	out.changed = m.Computed
	if recipe.Finer() {
		out.notes = append(out.notes, "computed in float32 and rounded to dtype once; mergekit rounds every step, so it differs in last bits")
	}
	o.model, o.merged = m, out
	keepFileSizes(o, files)
	return nil
}
