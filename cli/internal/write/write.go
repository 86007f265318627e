package write

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/cli/internal/disk"
	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/flags"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/output"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/dcp"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A conversion is one run of a command that writes a model.
type conversion struct {
	schema string
	verb   string // "dequantizing"
	flags  *writeFlags
	opts   convert.Options
	// source opens the model if it is not simply the path; nil otherwise.
	source func(*limits.Budget, *conversion) error
	// prepare completes the options once the model is open, or nil.
	prepare func(*limits.Budget, *conversion) error
	whole   bool // one file is written, even of a folder
	// pipe is standard output if the model is written there, or nil.
	pipe io.Writer
	// inFolder says that a folder is written, even of a file.
	inFolder bool
	report   bool             // print the error of each weight
	page     string           // the file of --report, or ""
	patterns []patterns       // of flags, each of which must match a tensor
	fits     matchedPatterns  // in a pipeline: patterns that match in a component; nil otherwise
	parts    *componentTotals // in a pipeline
	decodes  bool             // a pipeline without a quantized component is refused
	nothing  string           // in a pipeline: why nothing in this component is quantized
	merged   *merged          // the adapters or models that were merged, or nil
	edited   *convert.Edit    // the keys that were changed, or nil
	budget   string           // the size of the types that --budget has chosen
	curve    []point          // size and error for every budget, and the choice, for the page
	typed    string           // the name of the type that every weight gets, "" if its tensor states it
	// admit returns an error if the plan must not be carried out; it may be nil.
	admit func(*conversionState) error
	// target returns the default path of the output.
	target func(*conversionState) string

	conversionState
}

// A conversionState is the progress and the result of a conversion.
type conversionState struct {
	path   string // of the source
	folder bool   // a model's folder is written
	model  tensor.Model
	names  *convert.Renamed // the model under other names, or nil
	plan   *convert.Plan
	target string
	result *convert.Result
	took   time.Duration
	err    error

	dryRun   bool // --dry-run was given, and the target was checked
	replaces bool // an existing target would be replaced

	begun *convert.Resumed // in a dry run: what an earlier run has written
}

// convertModel runs a conversion and reports about it.
func convertModel(ctx context.Context, s *run.Run, c *conversion) error {
	if err := flags.Globs(c.flags.Tensor).Check(); err != nil {
		return err
	}
	c.flags.Grant(s)
	c.path = c.flags.Path
	if c.flags.Output == "-" {
		if err := toPipe(s, c); err != nil {
			return err
		}
	}
	if run.IsPipeline(c.path) {
		return convertPipeline(ctx, s, c)
	}
	b := s.Policy.Long().Budget(ctx)
	defer b.Close()
	c.err = execute(ctx, s, b, c)
	if c.model != nil {
		defer c.model.Close()
	}
	if err, ok := errors.AsType[fault.Interrupted](c.err); ok {
		return convertInterrupted(s, c, err)
	}
	s.Count.Note(c.err)
	if s.JSON {
		if err := printWrittenJSON(s, c); err != nil {
			return err
		}
	} else if (c.err == nil || c.dryRun) && !s.Quiet {
		printWritten(s, c)
	}
	if c.err != nil {
		s.PrintError(c.path, c.err)
		return nil
	}
	return s.Out.Flush()
}

// convertInterrupted reports what is kept of an interrupted conversion.
func convertInterrupted(s *run.Run, c *conversion, err fault.Interrupted) error {
	printInterrupted(s, c)
	if errors.As(c.err, new(*convert.Unfinished)) && s.JSON {
		if err := printWrittenJSON(s, c); err != nil {
			return err
		}
	}
	return err
}

// execute opens the source, plans the conversion and carries it out.
func execute(ctx context.Context, s *run.Run, b *limits.Budget, c *conversion) error {
	info, err := os.Stat(c.path)
	c.opts.Alone, c.opts.Source, c.opts.Guard = err != nil || !info.IsDir(), c.flags.Weights, disk.GuardOf([]string{c.path})
	if c.opts.Source != "" && c.opts.Alone {
		return fault.Usage("--weights: the path is not a folder")
	}
	if c.source != nil {
		err = c.source(b, c)
	} else {
		err = openSource(ctx, s, b, &c.conversionState, c.opts.Source)
	}
	if err == nil && c.flags.ConfigFrom != "" {
		err = c.useConfigFrom(b)
	}
	if err != nil {
		return err
	}
	c.opts.Threads, c.opts.Keep = cmp.Or(c.flags.Threads, s.Workers), c.flags.filter()
	c.opts.Memory, _ = c.flags.memory()
	c.opts.Quant.KeepScales, c.opts.FailOnOverflow, c.opts.NoSync = c.flags.KeepScales, c.flags.FailOnOverflow, c.flags.NoSync
	if c.prepare != nil {
		if err := c.prepare(b, c); err != nil {
			return err
		}
	}
	if c.folder = c.writesFolder(); c.folder {
		c.opts.Shard, _ = c.flags.shardSize()
		c.opts.Quant.Folder = true
	}
	if c.opts.Resume, err = resumeOf(s, c); err != nil {
		return err
	}
	if c.plan, err = convert.NewPlan(b, c.model, c.opts); err != nil {
		return err
	}
	c.checkLoads()
	if err := cmp.Or(c.checkEmpty(), c.checkTrained(), c.checkAlone(), c.checkPatterns()); err != nil {
		return err
	}
	if c.admit != nil {
		if err := c.admit(&c.conversionState); err != nil {
			return err
		}
	}
	if c.conversionState.target = c.flags.Output; c.conversionState.target == "" {
		c.conversionState.target = c.target(&c.conversionState)
	}
	if c.pipe != nil && (c.folder || c.inFolder) {
		return fault.Usage("-o -: a folder cannot be written to standard output: name one")
	}
	if c.flags.DryRun {
		return c.checkDryRun()
	}
	if err := c.checkName(); err != nil {
		return err
	}
	return writeModel(s, c)
}

// checkEmpty rejects a source without tensors to write, such as training_args.bin.
func (c *conversion) checkEmpty() error {
	switch {
	case len(c.plan.Outs) > 0:
		return nil
	case c.opts.Keep != nil:
		return fault.Usage("--tensor: no tensor name matches")
	case c.model.Format() == "pth":
		return fault.Usage("the file has no tensors (amn inspect lists its values)")
	}
	return nil
}

// optimizerParts are the parts of a checkpoint that trainers keep an optimizer's state in.
var optimizerParts = []string{"optimizer.", "optimizer_state.", "optimizer_state_dict.", "optimizer_states."}

// checkTrained rejects a file of a training that holds no weights: the state of an optimizer,
// which has the shapes of the weights, or a shard of ZeRO-3 whose weights are in such states.
func (c *conversion) checkTrained() error {
	if f, ok := c.model.(*dcp.File); ok && c.opts.Keep == nil && c.names == nil {
		return checkOptimizer(f)
	}
	if c.model.Format() != "pth" || c.opts.Keep != nil || c.names != nil {
		return nil
	}
	groups, shapes := false, false
	for key := range c.model.Meta() {
		groups = groups || strings.HasPrefix(key, "param_groups.")
		shapes = shapes || strings.HasPrefix(key, "param_shapes.")
	}
	optimizer, empty := true, true
	for t := range c.model.Tensors() {
		empty = empty && t.Elements() == 0
		optimizer = optimizer && (groups && strings.HasPrefix(t.Name, "state.") || slices.ContainsFunc(optimizerParts, func(p string) bool { return strings.HasPrefix(t.Name, p) }))
	}
	switch {
	case shapes && empty:
		return fault.Usage("the weights of this shard of a ZeRO checkpoint are in its optimizer states: open the folder, whose files are one model")
	case optimizer:
		return fault.Usage("the file holds the state of an optimizer, and no weights of a model; amn convert --to safetensors --keep '*' takes its tensors (a folder of ZeRO's shards is one model)")
	}
	return nil
}

// checkOptimizer refuses to take the state of an optimizer for weights.
func checkOptimizer(f *dcp.File) error {
	for t := range f.Tensors() {
		if f.OfOptimizer(t.Name) {
			return fault.Usage("the checkpoint holds the state of an optimizer, such as " + wire.Quote(t.Name) + ": --select PATH takes the weights (amn parse lists the names), --keep '*' takes all")
		}
	}
	return nil
}

// checkDryRun checks the target, and whether something would be replaced.
func (c *conversion) checkDryRun() (err error) {
	if c.pipe != nil {
		c.dryRun = true
		return nil
	}
	if c.folder {
		c.replaces, err = c.plan.CheckFolder(c.conversionState.target, c.flags.Force, c.flags.CopyCode)
	} else {
		c.replaces, err = c.plan.Check(c.conversionState.target, c.flags.Force)
	}
	c.dryRun = true
	if err == nil {
		err = c.checkName()
	}
	if err == nil {
		c.begun, err = c.plan.Begun(c.conversionState.target)
	}
	return err
}

// writesFolder reports whether the output is a folder: if the source is one that transformers
// loads, and if shards are asked for.
func (c *conversion) writesFolder() bool {
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

// namesFile reports whether -o names a single safetensors file.
func (c *conversion) namesFile() bool {
	to := c.flags.Output
	return strings.EqualFold(filepath.Ext(to), ".safetensors") && !disk.IsFolder(to)
}

// openSource opens the source, or the named weights in it, and verifies it if --limits was
// given.
func openSource(ctx context.Context, s *run.Run, b *limits.Budget, w *conversionState, weights string) error {
	src := run.Source{Path: w.path, Read: parser.Progress}
	src.Open = func(b *limits.Budget) (tensor.Model, error) {
		if weights != "" {
			return parser.OpenWeights(b, w.path, weights)
		}
		return parser.Open(b, w.path)
	}
	if w.path == "-" {
		src = s.Stdin(ctx)
	} else if open, ok := s.RemoteOpener(ctx, w.path); ok {
		src.Open = open
	}
	if src.Err != nil {
		return src.Err
	}
	var err error
	if w.model, err = src.Open(b); err != nil || !s.Policy.Verify {
		return err
	}
	done := s.Progress("verifying "+term.Path(w.path), func() (int64, int64) { return src.Read(w.model) })
	defer done()
	return parser.Verify(b, w.model)
}

// writeModel carries out the plan.
func writeModel(s *run.Run, c *conversion) error {
	page, err := openReport(c.page, c.flags.Force, c.path)
	if err != nil {
		return err
	}
	defer page.Discard()
	began := time.Now()
	done := s.Progress(c.verb+" "+term.Path(c.path), c.plan.Progress)
	var r *convert.Result
	if c.pipe != nil {
		r, err = c.plan.Pipe(c.pipe)
	} else if c.folder {
		r, err = c.plan.WriteFolder(c.conversionState.target, c.flags.Force, c.flags.CopyCode)
	} else {
		r, err = c.plan.Write(c.conversionState.target, c.flags.Force)
	}
	done()
	if err != nil {
		return err
	}
	c.result, c.took = r, time.Since(began)
	return c.drawPage(page)
}

// derivedPath returns a path next to the source: its stem, a suffix and an extension. For
// standard input, models in stores and addresses the path is in the current folder.
func derivedPath(path, suffix, ext string) string {
	if path == "-" {
		return "stdin" + suffix + ext
	}
	if name, ok := strings.CutPrefix(path, "ollama:"); ok {
		name = name[strings.LastIndexByte(name, '/')+1:]
		return strings.ReplaceAll(name, ":", "-") + suffix + ext
	}
	if run.IsAddress(path) {
		path = path[strings.LastIndexByte(strings.TrimRight(path, "/"), '/')+1:]
	}
	if output.GoesUp(path) { // Clean would name another file if there is a link
		dir, name := filepath.Split(path)
		if name == "" || name == ".." {
			dir, name = path, ""
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			path = filepath.Join(real, name)
		}
	}
	path = filepath.Clean(path)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if base := filepath.Base(path); base == "." || base == ".." { // the folder's own name is needed
			if full, err := filepath.Abs(path); err == nil {
				path = full
			}
		}
		return path + suffix + ext
	}
	return strings.TrimSuffix(path, filepath.Ext(path)) + suffix + ext
}
