package write

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/disk"
	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/report"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
)

// convertPipeline converts each component of a pipeline into a new folder, and copies the
// other files. The folder appears only when it is complete.
func convertPipeline(ctx context.Context, s *run.Run, c *conversion) error {
	// The output about components is printed once the folder exists.
	var said bytes.Buffer
	out := s.Out.Writer
	s.Out.Writer = bufio.NewWriter(&said)
	err := pipeline(ctx, s, c)
	s.Out.Flush()
	if s.Out.Writer = out; err == nil || s.JSON {
		out.Write(said.Bytes())
	}
	if err, ok := errors.AsType[fault.Interrupted](err); ok {
		return err
	}
	if err != nil && !errors.Is(err, errComponent) { // which was printed already
		s.Count.Note(err)
		s.PrintError(c.path, err)
	}
	return s.Out.Flush()
}

// errComponent means that a component was refused.
var errComponent = errors.New("a component was refused")

func pipeline(ctx context.Context, s *run.Run, c *conversion) error {
	target := c.flags.Output
	switch {
	case c.flags.Resume:
		return fault.Usage("--resume: a pipeline is converted component by component: name one component")
	case c.whole || c.opts.Split != nil || c.page != "" || c.flags.Weights != "" || c.flags.ConfigFrom != "" || c.namesFile():
		return fault.Usage("a pipeline is converted component by component to a folder of safetensors: for this, name one component")
	case target == "" && c.opts.Quantize != nil:
		target = c.target(&conversionState{path: c.path, folder: true})
	case target == "":
		target = derivedPath(c.path, "-"+strings.ToLower(castName(c, &report.Plan{Target: c.opts.Quant.Target})), "")
	}
	b := s.Policy.Long().Budget(ctx)
	defer b.Close()
	d, err := parser.OpenFolder(b, c.path)
	if err != nil {
		return err
	}
	defer d.Close()
	folders, err := foldersOf(d)
	if err != nil {
		return err
	}
	if c.flags.DryRun {
		if err := convert.CheckStaged(d, target, folders, c.flags.Force, c.flags.CopyCode); err != nil {
			return err
		}
		return components(ctx, s, c, d.Path, folders, nil, target)
	}
	staged, err := convert.Stage(d, target, folders, c.flags.Force, c.flags.CopyCode)
	if err != nil {
		return err
	}
	defer staged.Close()
	if err := components(ctx, s, c, d.Path, folders, staged, target); err != nil {
		return err
	}
	// model_index.json is written last: without it, no program takes the rest of a killed run for a pipeline.
	beside, err := staged.CopyFolder(b, d, "", c.flags.CopyCode, false)
	if err != nil {
		return err
	}
	printCopied(s, filepath.Base(c.path), beside)
	return staged.Publish()
}

// components converts each component. A pattern of a flag must match in one of them.
func components(ctx context.Context, s *run.Run, c *conversion, root string, folders []string, staged *convert.Staged, target string) error {
	c.fits, c.parts = matchedPatterns{}, &componentTotals{}
	for _, name := range folders {
		if err := component(ctx, s, c, filepath.Join(root, name), staged, target); err != nil {
			return err
		}
	}
	if err := c.fits.all(c.patterns); err != nil {
		return err
	}
	switch {
	case c.opts.Quantize != nil && c.parts.quantized == 0:
		return fault.Usage("no weight of any component is quantized" + keptText(c.parts.kept))
	case c.decodes && c.parts.decoded == 0:
		return fault.Usage("no component is quantized, so there is nothing to dequantize; --copy writes a copy")
	}
	return nil
}

// componentTotals counts the components so far.
type componentTotals struct {
	quantized int // components
	decoded   int // components
	kept      []convert.KeptMatrix
}

// foldersOf returns the names of the folders of a pipeline.
func foldersOf(d fs.FS) ([]string, error) {
	list, err := fs.ReadDir(d, ".")
	var folders []string
	for _, e := range list {
		if info, err := fs.Stat(d, e.Name()); err == nil && info.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			folders = append(folders, e.Name())
		}
	}
	return folders, err
}

// component converts one folder of a pipeline, or copies it.
func component(ctx context.Context, s *run.Run, c *conversion, path string, staged *convert.Staged, target string) error {
	b := s.Policy.Long().Budget(ctx)
	defer b.Close()
	name := filepath.Base(path)
	d, err := parser.OpenFolder(b, path)
	if err != nil {
		return err
	}
	defer d.Close()
	if !hasWeights(d) {
		if staged == nil {
			return nil
		}
		beside, err := staged.CopyFolder(b, d, name, c.flags.CopyCode, true)
		if err == nil {
			printCopied(s, name, beside)
		}
		return err
	}
	return oneComponent(ctx, s, b, c, path, staged, target)
}

// errNothing means that no weight of a component can be quantized.
var errNothing = errors.New("nothing in it is quantized")

// oneComponent converts a component that is a model, or copies it if nothing of it is
// quantized.
func oneComponent(ctx context.Context, s *run.Run, b *limits.Budget, c *conversion, path string, staged *convert.Staged, target string) error {
	name := filepath.Base(path)
	one, flags := *c, *c.flags
	flags.Path, flags.Output = path, filepath.Join(target, name)
	if staged != nil {
		flags.Output = filepath.Join(staged.Path, name)
	}
	one.flags, one.admit, one.conversionState = &flags, nil, conversionState{path: path}
	if c.opts.Quantize != nil {
		one.nothing = ""
		one.admit = func(w *conversionState) error {
			if len(w.plan.Quantized.Weights) == 0 {
				kept := w.plan.Quantized.Kept
				c.parts.kept, c.nothing = append(c.parts.kept, kept...), "nothing"+keptText(kept)
				return errNothing
			}
			c.parts.quantized++
			return admitQuantized(w)
		}
	}
	if c.decodes {
		one.admit = func(w *conversionState) error {
			c.parts.decoded += min(1, len(w.plan.Weights))
			return nil
		}
	}
	if old := filepath.Join(target, name); staged != nil && disk.IsFolder(old) { // refused before it is converted
		admit := one.admit
		one.admit = func(w *conversionState) error {
			if admit != nil {
				if err := admit(w); err != nil {
					return err
				}
			}
			_, err := w.plan.CheckFolder(old, c.flags.Force, c.flags.CopyCode)
			return err
		}
	}
	if staged == nil { // the folder of a dry run does not exist: check a name next to it
		flags.Output = filepath.Join(filepath.Dir(filepath.Clean(target)), name+"-of-"+filepath.Base(target))
	}
	one.err = execute(ctx, s, b, &one)
	if one.model != nil {
		defer one.model.Close()
	}
	if errors.Is(one.err, errNothing) {
		plain := *c
		plain.opts.Quantize, plain.patterns = nil, nil
		return oneComponent(ctx, s, b, &plain, path, staged, target)
	}
	if one.err == nil && (one.opts.Sink != nil && one.opts.Sink.Name() != safetensors.Format || !one.folder) {
		one.err = fault.Usage("a pipeline is written as safetensors")
	}
	if one.conversionState.target != "" {
		one.conversionState.target = filepath.Join(target, name)
	}
	return printComponent(s, &one)
}

// printCopied prints which files of a folder were copied.
func printCopied(s *run.Run, name string, beside *convert.Beside) {
	if s.JSON || s.Quiet {
		return
	}
	s.Out.Prose(0, "%s:", term.Path(name))
	printBeside(s, &convert.Result{Beside: beside})
}

// printComponent prints the result of a component.
func printComponent(s *run.Run, one *conversion) error {
	if _, ok := errors.AsType[fault.Interrupted](one.err); ok {
		return one.err
	}
	s.Count.Note(one.err)
	if s.JSON {
		if err := printWrittenJSON(s, one); err != nil {
			return err
		}
	} else if one.err == nil && !s.Quiet {
		s.Out.Prose(0, "%s:", filepath.Base(one.path))
		if one.nothing != "" {
			s.Out.Fact("", "Quantized", one.nothing)
		}
		printWritten(s, one)
	}
	if one.err != nil {
		s.PrintError(one.path, one.err)
		return errComponent
	}
	return nil
}

// hasWeights reports whether a folder has a file with the extension of a format.
func hasWeights(files fs.FS) bool {
	list, err := fs.ReadDir(files, ".")
	return err == nil && slices.ContainsFunc(list, func(e fs.DirEntry) bool {
		ext := strings.ToLower(filepath.Ext(e.Name()))
		return !e.IsDir() && slices.ContainsFunc(parser.Formats(), func(f parser.Format) bool { return slices.Contains(f.Extensions, ext) })
	})
}
