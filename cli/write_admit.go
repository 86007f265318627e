package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
)

// configFrom takes what stands beside the weights from another folder.
func (c *conversion) configFrom(b *limits.Budget) error {
	if f := c.model.Format(); f != safetensors.Format && f != "pth" {
		return usage{"--config-from: " + f + " takes nothing from a folder"}
	}
	dir := c.flags.ConfigFrom
	if err := parser.ConfigsFrom(b, c.model, dir); err != nil {
		return fmt.Errorf("--config-from %s: %w", showPath(dir), err)
	}
	from, err := os.Stat(dir)
	if to, lost := os.Stat(c.flags.Output); err == nil && lost == nil && os.SameFile(from, to) {
		return usage{"the target is the folder of --config-from: choose another"}
	}
	c.opts.Alone = false
	return err
}

// checkName refuses a target whose name promises another format: programs that go
// by names, as most do, would not load it.
func (c *conversion) checkName() error {
	ext, format := strings.ToLower(filepath.Ext(c.written.target)), safetensors.Format
	if c.opts.Sink != nil {
		format = c.opts.Sink.Name()
	}
	for _, f := range parser.Formats() {
		switch {
		case !slices.Contains(f.Extensions, ext):
		case c.folder && c.flags.Output != "" && !isFolder(c.written.target):
			return usage{fmt.Sprintf("target %q: the name is that of a file, but a folder will be written", showPath(c.written.target))}
		case !c.folder && f.Name != format:
			return usage{fmt.Sprintf("target %q: the name is that of %s, but %s will be written", showPath(c.written.target), f.Name, format)}
		}
	}
	return nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// patterns are what a flag was given.
type patterns struct {
	flag string
	globs
}

// fitted refuses a pattern that fits no tensor, under the name that it has in the source or in what
// is written: it is misspelt, and what it was to change would go on as if nobody had asked. So would shards of
// what is one file.
func (c *conversion) fitted() error {
	if c.flags.MaxShardSize != "" && !c.folder && !c.whole {
		return usage{"--max-shard-size goes with safetensors; amn split writes a GGUF model as several files"}
	}
	for _, list := range c.patterns {
		for _, p := range list.globs {
			switch err := c.fit(list.flag, p); {
			case c.fits == nil && err != nil:
				return err
			case err == nil:
				c.fits.add(list.flag, p)
			}
		}
	}
	return nil
}

// fit is why a pattern has no effect, nil if it has one.
func (c *conversion) fit(flag string, p string) error {
	if !c.anyTensor(globs{p}.match) {
		return usage{fmt.Sprintf("%s: no tensor name matches %q", flag, p)}
	}
	if flag == "--include" {
		return c.includes(p)
	}
	if name, ok := c.unmoved(globs{p}.match); ok && flag == "--tensor-type" {
		return usage{fmt.Sprintf("--tensor-type: %q matches only tensors that are not quantized, such as %s", p, nameText(name))}
	}
	return nil
}

// fits are patterns that have an effect in a component of a pipeline.
type fits map[[2]string]bool

func (f fits) add(flag string, p string) {
	if f != nil {
		f[[2]string{flag, p}] = true
	}
}

// all refuses a pattern that has an effect in none.
func (f fits) all(list []patterns) error {
	for _, l := range list {
		for _, p := range l.globs {
			if !f[[2]string{l.flag, p}] {
				return usage{fmt.Sprintf("%s: no name in any component matches %q", l.flag, p)}
			}
		}
	}
	return nil
}

// includes refuses a pattern that chooses nothing: what fits it is no matrix, or is left alone for
// a reason that choosing it does not remove.
func (c *conversion) includes(p string) error {
	q, is := c.plan.Quantized, globs{p}.match
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
	return usage{fmt.Sprintf("--include: nothing that matches %q can be quantized: %s (%s)", p, nameText(name), why)}
}

// unmoved gives a tensor of such names where none of them gets the type that --tensor-type says: mixes leave
// vectors, routers and others as they are.
func (c *conversion) unmoved(is func(name string) bool) (name string, ok bool) {
	q, blocks := c.opts.Quantize.(convert.GGML)
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
