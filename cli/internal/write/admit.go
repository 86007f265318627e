package write

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/disk"
	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/flags"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/quant/ggml"
)

// useConfigFrom takes the files besides the weights from the folder of --config-from.
func (c *conversion) useConfigFrom(b *limits.Budget) error {
	if f := c.model.Format(); f != safetensors.Format && f != "pth" {
		return fault.Usage("--config-from needs safetensors or a PyTorch checkpoint, not " + f)
	}
	dir := c.flags.ConfigFrom
	if err := parser.ConfigsFrom(b, c.model, dir); err != nil {
		return fmt.Errorf("--config-from %s: %w", term.Path(dir), err)
	}
	from, err := os.Stat(dir)
	if to, lost := os.Stat(c.flags.Output); err == nil && lost == nil && os.SameFile(from, to) {
		return fault.Usage("the target is the folder of --config-from: choose another")
	}
	c.opts.Alone = false
	return err
}

// checkName rejects a target whose extension is that of another format: most programs decide by the
// extension and would not load it.
func (c *conversion) checkName() error {
	ext, format := strings.ToLower(filepath.Ext(c.conversionState.target)), safetensors.Format
	if c.opts.Sink != nil {
		format = c.opts.Sink.Name()
	}
	for _, f := range slices.Concat(parser.Formats(), parser.Graphs()) {
		switch {
		case !slices.Contains(f.Extensions, ext):
		case c.folder && c.flags.Output != "" && !disk.IsFolder(c.conversionState.target):
			return fault.Usage(fmt.Sprintf("target %q: the name is that of a file, but a folder will be written", term.Path(c.conversionState.target)))
		case !c.folder && f.Name != format:
			return fault.Usage(fmt.Sprintf("target %q: the name is that of %s, but %s will be written", term.Path(c.conversionState.target), f.Name, format))
		}
	}
	return nil
}

// checkAlone rejects flags that have no effect where one file is written.
func (c *conversion) checkAlone() error {
	switch {
	case c.folder:
		return nil
	case c.flags.MaxShardSize != "" && !c.whole:
		return fault.Usage("--max-shard-size goes with safetensors; amn split writes a GGUF model as several files")
	case c.flags.CopyCode:
		return fault.Usage("--copy-code has no effect, because one file is written: name a folder with --output, or leave it out")
	case c.flags.ConfigFrom != "" && !c.readsConfig():
		return fault.Usage("--config-from has no effect, because one file is written and nothing in it depends on the configuration: name a folder with --output, or leave it out")
	}
	return nil
}

// readsConfig reports whether what is written depends on the model's configuration: weights are
// decoded or quantized by it, and llama.cpp's keys are made of it.
func (c *conversion) readsConfig() bool {
	g, isGGUF := c.opts.Sink.(convert.GGUF)
	return isGGUF && !g.RawNames || c.opts.Quantize != nil || len(c.plan.Weights)+len(c.plan.Read) > 0
}

// patterns are the values of a flag.
type patterns struct {
	flag string
	flags.Globs
}

// checkPatterns rejects a pattern that matches no tensor, by its name in the source or in the
// output: it is misspelt, and would silently have no effect.
func (c *conversion) checkPatterns() error {
	for _, list := range c.patterns {
		for _, p := range list.Globs {
			switch err := c.checkPattern(list.flag, p); {
			case c.fits == nil && err != nil:
				return err
			case err == nil:
				c.fits.add(list.flag, p)
			}
		}
	}
	return nil
}

// checkPattern returns an error if a pattern has no effect.
func (c *conversion) checkPattern(flag string, p string) error {
	if !c.anyTensor(flags.Globs{p}.Match) {
		return fault.Usage(fmt.Sprintf("%s: no tensor name matches %q", flag, p))
	}
	if flag == "--include" {
		return c.checkInclude(p)
	}
	if name, ok := c.unaffected(flags.Globs{p}.Match); ok && flag == "--tensor-type" {
		return fault.Usage(fmt.Sprintf("--tensor-type: %q matches only tensors that are not quantized, such as %s", p, term.Name(name)))
	}
	return nil
}

// matchedPatterns are the patterns that have an effect in a component of a pipeline, by flag.
type matchedPatterns map[[2]string]bool

func (f matchedPatterns) add(flag string, p string) {
	if f != nil {
		f[[2]string{flag, p}] = true
	}
}

// all returns an error about a pattern that has an effect in no component.
func (f matchedPatterns) all(list []patterns) error {
	for _, l := range list {
		for _, p := range l.Globs {
			if !f[[2]string{l.flag, p}] {
				return fault.Usage(fmt.Sprintf("%s: no name in any component matches %q", l.flag, p))
			}
		}
	}
	return nil
}

// checkInclude rejects a pattern that adds nothing: its matches are not matrices, or are kept for a
// reason that --include does not override.
func (c *conversion) checkInclude(p string) error {
	q, is := c.plan.Quantized, flags.Globs{p}.Match
	if q == nil || slices.ContainsFunc(q.Weights, func(w convert.QuantizedWeight) bool { return is(w.Name) }) {
		return nil
	}
	name, why := "", "not a matrix of a linear module"
	for t := range c.model.Tensors() {
		if name == "" && is(t.Name) {
			name = t.Name
		}
	}
	if at := slices.IndexFunc(q.Kept, func(k convert.KeptMatrix) bool { return is(k.Name) }); at >= 0 {
		name, why = q.Kept[at].Name, q.Kept[at].Why
	}
	return fault.Usage(fmt.Sprintf("--include: nothing that matches %q can be quantized: %s (%s)", p, term.Name(name), why))
}

// unaffected returns a matching tensor if no matching tensor gets the type of --tensor-type:
// mixes do not quantize vectors, routers and others.
func (c *conversion) unaffected(is func(name string) bool) (name string, ok bool) {
	q, blocks := c.opts.Quantize.(ggml.Quantizer)
	to := c.plan.Quantized
	if !blocks || q.Options.Override == nil || slices.ContainsFunc(to.Weights, func(w convert.QuantizedWeight) bool { return is(w.Name) }) ||
		slices.ContainsFunc(to.Kept, func(k convert.KeptMatrix) bool { return is(k.Name) }) {
		return "", false
	}
	for i := range c.plan.Outs {
		o := &c.plan.Outs[i]
		if !is(o.Name) {
			continue
		}
		if o.DType == q.Options.Override(o.Name) || q.Exclude != nil && q.Exclude(o.Name) {
			return "", false
		}
		name, ok = o.Name, true
	}
	return name, ok
}

func (c *conversion) anyTensor(is func(name string) bool) bool {
	for t := range c.model.Tensors() {
		if is(t.Name) {
			return true
		}
	}
	for i := range c.plan.Outs {
		if is(c.plan.Outs[i].Name) {
			return true
		}
	}
	q := c.plan.Quantized
	return q != nil && (slices.ContainsFunc(q.Weights, func(w convert.QuantizedWeight) bool { return is(w.Name) }) ||
		slices.ContainsFunc(q.Kept, func(k convert.KeptMatrix) bool { return is(k.Name) }))
}
