package write

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/jsonout"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/merge/lora"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// MergeLoRA merges adapters into their base.
type MergeLoRA struct {
	Base     string   `arg:"" name:"base" help:"The model that the adapters were trained on: a folder or a file."`
	Adapters []string `arg:"" name:"adapter" help:"Adapters, in the order in which they are merged: PEFT folders, or GGUF files for a GGUF base."`
	Weight   []string `placeholder:"X" help:"Weight of an adapter, as in PEFT's set_scale: 1 merges it as it was trained. One for each adapter, in order."`

	outFlags     `embed:"" group:"Output"`
	MaxShardSize string `placeholder:"SIZE" help:"Write a folder of safetensors files of at most this size each (default: as many files as the base has)."`
	CopyCode     bool   `help:"Also copy .py files, which auto_map in config.json may run."`
}

func (MergeLoRA) Help() string {
	return `Writes the base with LoRA adapters added to its weights, as PEFT's merge_and_unload does.
Everything else stays: types, names, files, configuration. Sums are float32 in PEFT's order,
rounded to the base's type after each adapter. PEFT's own result can differ by the last bit in
BF16 and F16, because its matrix product adds in another order. GGUF is rounded once, after all
adapters, as by llama-export-lora.

Ranks and alphas by pattern, rsLoRA, DoRA, Conv1D layers, convolutions, embeddings, biases,
parameters of experts (stacked in the base, or saved one by one as by transformers 5),
modules_to_save and trainable_token_indices are merged. Embeddings of another vocabulary
replace the base's, and vocab_size in config.json follows. If modules_to_save has one of two
tied modules, the result is untied, as config.json then says. An adapter whose configuration
asks for anything else, or that has a tensor without a known role, is refused by name, and
so is a result that would be infinite. Dequantize a quantized base first (amn dequantize).`
}

func (MergeLoRA) Examples() []run.Example {
	return []run.Example{
		{Command: "amn merge-lora models/tiny adapter -o merged", What: "Merge a PEFT adapter: writes the folder merged."},
		{Command: "amn merge-lora models/tiny adapter adapter --weight=0.5 --weight=-0.25 -o half", What: "Two, one after the other, each with a weight."},
	}
}

// Validate checks the flags.
func (c *MergeLoRA) Validate() error {
	if _, err := c.weights(); err != nil {
		return fmt.Errorf("--weight: %w", err)
	}
	return c.writeFlagsFor(c.Base, c.MaxShardSize).Validate()
}

// weights returns the weights of the adapters.
func (c *MergeLoRA) weights() ([]float64, error) {
	if len(c.Weight) > 0 && len(c.Weight) != len(c.Adapters) {
		return nil, fmt.Errorf("%d for %s", len(c.Weight), term.Plural(int64(len(c.Adapters)), "adapter"))
	}
	list := make([]float64, len(c.Adapters))
	for i := range list {
		list[i] = 1
		if len(c.Weight) == 0 {
			continue
		}
		f, err := strconv.ParseFloat(c.Weight[i], 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("%q is not a number", c.Weight[i])
		}
		list[i] = f
	}
	return list, nil
}

// Run implements the command.
func (c *MergeLoRA) Run(ctx context.Context, s *run.Run) error {
	flags := c.writeFlagsFor(c.Base, c.MaxShardSize)
	flags.CopyCode = c.CopyCode
	return convertModel(ctx, s, &conversion{
		schema: "amn.convert/1", verb: "merging into", flags: flags, opts: convert.Options{AsIs: true},
		prepare: func(b *limits.Budget, o *conversion) error { return c.prepare(ctx, b, s, o) },
		target:  mergedName,
	})
}

// mergedName returns the default path of the result.
func mergedName(w *conversionState) string {
	switch {
	case w.folder:
		return derivedPath(w.path, "-merged", "")
	case w.model.Format() == gguf.Format:
		return derivedPath(w.path, "-merged", ".gguf")
	default:
		return derivedPath(w.path, "-merged", ".safetensors")
	}
}

// prepare replaces the base by the merged model.
func (c *MergeLoRA) prepare(ctx context.Context, b *limits.Budget, s *run.Run, o *conversion) error {
	if !o.opts.Alone {
		if _, err := fs.Stat(o.model.Configs(), "adapter_config.json"); err == nil {
			why := "it contains an adapter besides the base, and so would the result: put the base into a folder without it"
			if _, err := fs.Stat(o.model.Configs(), "config.json"); err != nil {
				why = "it is an adapter, not a base: give the base first"
			}
			return wire.At("merge", "folder "+wire.Quote(o.path), wire.NoOffset, wire.ErrUnsupported.Errorf("%s", why))
		}
	}
	weights, err := c.weights()
	if err != nil {
		return fault.Usage(err.Error())
	}
	files := partSizes(o.model)
	var adapters []lora.Adapter
	for i, path := range c.Adapters {
		w := conversionState{path: path}
		if err := openSource(ctx, s, b, &w, ""); err != nil {
			return withPath(w.path, errors.Join(err, closeAll(adapters)))
		}
		adapters = append(adapters, lora.Adapter{Model: w.model, Weight: weights[i]})
	}
	m, err := lora.Merge(b, o.model, adapters)
	if err != nil {
		return errors.Join(err, closeAll(adapters))
	}
	o.model, o.opts.Sink = m, m.Sink()
	o.merged = &merged{what: "adapter", sources: c.Adapters, changed: m.Adapted, replaced: m.Replaced, added: m.Added}
	if m.Tied {
		o.merged.notes = append(o.merged.notes, "the input and the output layer of the base share one matrix, so the adapter of one changes both, as in PEFT's merge_and_unload: the result does not compute the same as the base with the adapter loaded")
	}
	if m.Untied {
		o.merged.notes = append(o.merged.notes, "the output layer now has its own matrix, as tie_word_embeddings in config.json says")
	}
	if m.Vocabulary > 0 {
		o.merged.notes = append(o.merged.notes, fmt.Sprintf("the vocabulary has %d tokens, as vocab_size in config.json now says; the tokenizer's files are the base's: take those of the adapter", m.Vocabulary))
	}
	keepFileSizes(o, files)
	return nil
}

// keepFileSizes makes shards as large as those of the source: one file stays one file, and
// several have at most the size of the largest.
func keepFileSizes(o *conversion, source map[int32]int64) {
	if o.flags.MaxShardSize != "" || o.opts.Alone || o.namesFile() || o.model.Format() == gguf.Format {
		return
	}
	var most, all int64
	for _, n := range source {
		most = max(most, n)
	}
	for i := range o.model.Tensors() {
		all = wire.AddCap(all, i.Bytes())
	}
	if len(source) < 2 {
		most = all
	}
	o.flags.MaxShardSize = strconv.FormatInt(max(most, 1), 10)
}

// withPath adds the path to an error about one of several files.
func withPath(path string, err error) error { return fmt.Errorf("%s: %w", term.Path(path), err) }

func closeAll(list []lora.Adapter) (err error) {
	for _, a := range list {
		err = errors.Join(err, a.Model.Close())
	}
	return err
}

// partSizes returns the bytes of tensors in each file of a model.
func partSizes(m tensor.Model) map[int32]int64 {
	sizes := map[int32]int64{}
	for i := range m.Tensors() {
		sizes[i.Part] = wire.AddCap(sizes[i.Part], i.Bytes())
	}
	return sizes
}

// merged describes a merge.
type merged struct {
	what            string // what the sources are: "model" or "adapter"
	sources         []string
	changed         int
	replaced, added []string
	notes           []string // about the arithmetic, the vocabulary, ties
}

// printMerged prints what was merged, and which tensors were replaced or added.
func printMerged(s *run.Run, m *merged, p *convert.Plan) {
	s.Out.Fact("", "Merged", mergedText(m, p.Copied))
	for _, list := range []struct {
		label string
		names []string
	}{{"Replaced", m.replaced}, {"Added", m.added}} {
		for i, name := range list.names {
			if i == maxSpecial {
				s.Out.Line("  and %s", term.Plural(int64(len(list.names)-i), "more tensor"))
				break
			}
			s.Out.Fact("", list.label, term.Tidy(name, 256))
		}
	}
	for _, note := range m.notes {
		s.Out.Fact("", "Note", note)
	}
}

// mergedText says what a merge did. In a passthrough of layers no number is computed.
func mergedText(m *merged, written convert.Count) string {
	sources := term.Plural(int64(len(m.sources)), m.what)
	if m.changed == 0 && len(m.replaced)+len(m.added) == 0 {
		return fmt.Sprintf("%s, no number computed: %s copied, %s", sources, term.Plural(int64(written.Tensors), "tensor"), term.Bytes(written.Bytes))
	}
	if m.changed == 0 {
		return fmt.Sprintf("%s, no number computed: %s replaced and %d added, of %s, %s", sources, term.Plural(int64(len(m.replaced)), "tensor"), len(m.added), term.Count(int64(written.Tensors)), term.Bytes(written.Bytes))
	}
	return fmt.Sprintf("%s into %s of %s, %s", sources, term.Plural(int64(m.changed), "tensor"), term.Count(int64(written.Tensors)), term.Bytes(written.Bytes))
}

// jsonMerged writes what printMerged prints.
func jsonMerged(o *jsonout.Object, m *merged) {
	if m == nil {
		return
	}
	o.Object("merged", func(o *jsonout.Object) {
		o.List("sources", func(add func(func(*jsonout.Object))) {
			for _, path := range m.sources {
				add(func(o *jsonout.Object) { o.Text("path", path) })
			}
		})
		o.Number("changed", int64(m.changed))
		jsonNames(o, "replaced", m.replaced)
		jsonNames(o, "added", m.added)
		if len(m.notes) > 0 {
			o.Text("note", strings.Join(m.notes, "; "))
		}
	})
}
