package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A conversion is one run of a command that writes.
type conversion struct {
	schema string
	verb   string // "dequantizing"
	flags  *writeFlags
	opts   convert.Options
	// source opens what is read, where that is not the path itself, or nil.
	source func(*limits.Budget, *conversion) error
	// prepare completes the options once the model is open, or nil.
	prepare func(*limits.Budget, *conversion) error
	whole   bool // one file is written, of a folder too
	// pipe is standard output, where the model is written to it, or nil.
	pipe io.Writer
	// inFolder says that a folder is written, of a file too.
	inFolder bool
	report   bool          // print what was lost by weight
	page     string        // and draw it in this file
	patterns []patterns    // of flags, each of which must fit a tensor
	fits     fits          // of a pipeline: patterns that fit in a component, or nil
	parts    *parts        // of a pipeline
	decodes  bool          // a pipeline of which nothing is quantized is refused
	nothing  string        // of this component is quantized, and why
	merged   *merged       // adapters or models were merged
	edited   *convert.Edit // keys were changed
	budget   string        // what types chosen for --budget take, once they are
	// admit says why the plan is not to be carried out, or nil.
	admit func(*written) error
	// target derives the path that is written.
	target func(*written) string

	written
}

// A written is what is known of a conversion.
type written struct {
	path   string // of the source
	folder bool   // a model's folder is written
	model  tensor.Model
	names  *convert.Renamed // the model under other names, or nil
	plan   *convert.Plan
	target string
	result *convert.Result
	took   time.Duration
	err    error

	rehearsed bool // nothing was to be written
	replaces  bool // what is there would be replaced

}

// convert runs a conversion and reports about it.
func (s *session) convert(ctx context.Context, c *conversion) error {
	if err := globs(c.flags.Tensor).check(); err != nil {
		return err
	}
	c.flags.grant(s)
	c.path = c.flags.Path
	if c.flags.Output == "-" {
		if err := s.toPipe(c); err != nil {
			return err
		}
	}
	if isPipeline(c.path) {
		return s.convertPipeline(ctx, c)
	}
	b := s.longPolicy().Budget(ctx)
	defer b.Close()
	c.err = s.carryOut(ctx, b, c)
	if c.model != nil {
		defer c.model.Close()
	}
	if err, ok := errors.AsType[interrupted](c.err); ok {
		return err
	}
	s.note(c.err)
	if s.json {
		if err := s.printWrittenJSON(c); err != nil {
			return err
		}
	} else if (c.err == nil || c.rehearsed) && !s.quiet {
		s.printWritten(c)
	}
	if c.err != nil {
		s.complain(c.path, c.err)
		return nil
	}
	return s.out.Flush()
}

// carryOut opens, plans and writes.
func (s *session) carryOut(ctx context.Context, b *limits.Budget, c *conversion) error {
	info, err := os.Stat(c.path)
	c.opts.Alone, c.opts.Source = err != nil || !info.IsDir(), c.flags.Weights
	if c.opts.Source != "" && c.opts.Alone {
		return usage{"--weights: the path is not a folder"}
	}
	if c.source != nil {
		err = c.source(b, c)
	} else {
		err = s.openFor(ctx, b, &c.written, c.opts.Source)
	}
	if err == nil && c.flags.ConfigFrom != "" {
		err = c.configFrom(b)
	}
	if err != nil {
		return err
	}
	c.opts.Threads, c.opts.Keep = cmp.Or(c.flags.Threads, s.workers), c.flags.keep()
	c.opts.Memory, _ = c.flags.memory()
	c.opts.Quant.KeepScales, c.opts.FailOnOverflow, c.opts.NoSync = c.flags.KeepScales, c.flags.FailOnOverflow, c.flags.NoSync
	if c.prepare != nil {
		if err := c.prepare(b, c); err != nil {
			return err
		}
	}
	if c.folder = c.toFolder(); c.folder {
		c.opts.Shard, _ = c.flags.shard()
		c.opts.Quant.Folder = true
	}
	if c.plan, err = convert.NewPlan(b, c.model, c.opts); err != nil {
		return err
	}
	if err := c.empty(); err != nil {
		return err
	}
	if err := c.fitted(); err != nil {
		return err
	}
	if c.admit != nil {
		if err := c.admit(&c.written); err != nil {
			return err
		}
	}
	if c.written.target = c.flags.Output; c.written.target == "" {
		c.written.target = c.target(&c.written)
	}
	if c.pipe != nil && (c.folder || c.inFolder) {
		return usage{"-o -: a folder cannot be written to standard output: name one"}
	}
	if c.flags.DryRun {
		return c.rehearse()
	}
	if err := checkReplace(c.page, c.flags.Force); err != nil {
		return err
	}
	if err := c.checkName(); err != nil {
		return err
	}
	return s.write(c)
}

// empty refuses to write nothing of what may hold all else: training_args.bin, scheduler.pt.
func (c *conversion) empty() error {
	switch {
	case len(c.plan.Outs) > 0:
		return nil
	case c.opts.Keep != nil:
		return usage{"--tensor: no tensor has such a name"}
	case c.model.Format() == "pth":
		return usage{"it has no tensors (amn inspect lists its values)"}
	}
	return nil
}

// rehearse asks what would become of the target.
func (c *conversion) rehearse() (err error) {
	if c.pipe != nil {
		c.rehearsed = true
		return nil
	}
	if c.folder {
		c.replaces, err = c.plan.CheckFolder(c.written.target, c.flags.Force, c.flags.CopyCode)
	} else {
		c.replaces, err = c.plan.Check(c.written.target, c.flags.Force)
	}
	c.rehearsed = true
	if err == nil {
		err = c.checkName()
	}
	return err
}

// toFolder reports that what is written is a folder: where the source is one
// that transformers loads, and where shards are asked for.
func (c *conversion) toFolder() bool {
	if c.opts.Split != nil || c.whole {
		return !c.whole
	}
	if c.opts.Sink != nil && c.opts.Sink.Name() != safetensors.Format {
		return false
	}
	if c.namesFile() && !c.inFolder && c.flags.MaxShardSize == "" {
		return false
	}
	f := c.model.Format()
	return c.inFolder || c.flags.MaxShardSize != "" || !c.opts.Alone && (f == safetensors.Format || f == "pth")
}

// namesFile reports a target whose name is that of one file.
func (c *conversion) namesFile() bool {
	to := c.flags.Output
	return strings.EqualFold(filepath.Ext(to), ".safetensors") && !isFolder(to)
}

// openFor opens the source, or the named weights of it, and verifies it if a policy
// was asked for.
func (s *session) openFor(ctx context.Context, b *limits.Budget, w *written, weights string) error {
	src := source{path: w.path, read: parser.Progress}
	src.open = func(b *limits.Budget) (tensor.Model, error) {
		if weights != "" {
			return parser.OpenWeights(b, w.path, weights)
		}
		return parser.Open(b, w.path)
	}
	if w.path == "-" {
		src = s.stdin(ctx)
	} else if open, ok := s.fetches(ctx, w.path); ok {
		src.open = open
	}
	if src.err != nil {
		return src.err
	}
	var err error
	if w.model, err = src.open(b); err != nil || !s.gate {
		return err
	}
	done := s.progress("verifying "+showPath(w.path), func() (int64, int64) { return src.read(w.model) })
	defer done()
	return parser.Verify(b, w.model)
}

// write carries the plan out.
func (s *session) write(c *conversion) error {
	began := time.Now()
	done := s.progress(c.verb+" "+showPath(c.path), c.plan.Progress)
	var r *convert.Result
	var err error
	if c.pipe != nil {
		r, err = c.plan.Pipe(c.pipe)
	} else if c.folder {
		r, err = c.plan.WriteFolder(c.written.target, c.flags.Force, c.flags.CopyCode)
	} else {
		r, err = c.plan.Write(c.written.target, c.flags.Force)
	}
	done()
	if err != nil {
		return err
	}
	c.result, c.took = r, time.Since(began)
	return c.drawPage()
}

// derived is a name beside the source: its stem, a suffix and an extension. What
// has no folder of its own, and models in stores, are written where the program
// runs.
func derived(path, suffix, ext string) string {
	if path == "-" {
		return "stdin" + suffix + ext
	}
	if name, ok := strings.CutPrefix(path, "ollama:"); ok {
		name = name[strings.LastIndexByte(name, '/')+1:]
		return strings.ReplaceAll(name, ":", "-") + suffix + ext
	}
	if isAddress(path) {
		path = path[strings.LastIndexByte(strings.TrimRight(path, "/"), '/')+1:]
	}
	path = filepath.Clean(path)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if base := filepath.Base(path); base == "." || base == ".." { // no names of their own
			if full, err := filepath.Abs(path); err == nil {
				path = full
			}
		}
		return path + suffix + ext
	}
	return strings.TrimSuffix(path, filepath.Ext(path)) + suffix + ext
}
