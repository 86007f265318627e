package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
)

// isPipeline reports the folder of a pipeline, whose components are models.
func isPipeline(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	d, err := parser.OpenFolder(b, path)
	if err != nil {
		return false
	}
	defer d.Close()
	return parser.IsPipeline(d)
}

// convertPipeline converts each component of a pipeline to the same place of a new folder,
// and copies what is no model. The folder appears when it is whole.
func (s *session) convertPipeline(ctx context.Context, c *conversion) error {
	// What is said of components stands once the folder does.
	var said bytes.Buffer
	out := s.out
	s.out = bufio.NewWriter(&said)
	err := s.pipeline(ctx, c)
	s.out.Flush()
	if s.out = out; err == nil || s.json {
		out.Write(said.Bytes())
	}
	if err, ok := errors.AsType[interrupted](err); ok {
		return err
	}
	if err != nil && !errors.Is(err, errComponent) { // that was said
		s.note(err)
		s.complain(c.path, err)
	}
	return s.out.Flush()
}

// errComponent is that a component was refused.
var errComponent = errors.New("a component was refused")

func (s *session) pipeline(ctx context.Context, c *conversion) error {
	target := c.flags.Output
	switch {
	case c.whole || c.opts.Split != nil || c.page != "" || c.flags.Weights != "" || c.flags.ConfigFrom != "" || c.namesFile():
		return usage{"a pipeline is converted component by component, to a folder of safetensors: name one component for this"}
	case target == "" && c.opts.Quantize != nil:
		target = c.target(&written{path: c.path, folder: true})
	case target == "":
		target = derived(c.path, "-"+strings.ToLower(castName(c, &planned{target: c.opts.Quant.Target})), "")
	}
	b := s.longPolicy().Budget(ctx)
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
	if err := convert.CheckStaged(d, target, folders, c.flags.Force, c.flags.CopyCode); err != nil {
		return err
	}
	if c.flags.DryRun {
		return s.components(ctx, c, d.Path, folders, "", target)
	}
	staged, err := convert.Stage(target)
	if err != nil {
		return err
	}
	defer staged.Close()
	beside, err := convert.CopyFolder(b, d, staged.Path, c.flags.CopyCode, false)
	if err != nil {
		return err
	}
	s.copied(filepath.Base(c.path), beside)
	if err := s.components(ctx, c, d.Path, folders, staged.Path, target); err != nil {
		return err
	}
	return staged.Publish()
}

// components converts each. A pattern of a flag has to fit in one of them.
func (s *session) components(ctx context.Context, c *conversion, root string, folders []string, temp, target string) error {
	c.fits, c.parts = fits{}, &parts{}
	for _, name := range folders {
		if err := s.component(ctx, c, filepath.Join(root, name), temp, target); err != nil {
			return err
		}
	}
	if err := c.fits.all(c.patterns); err != nil {
		return err
	}
	switch {
	case c.opts.Quantize != nil && c.parts.quantized == 0:
		return usage{"no weight of any component is quantized" + leftAlone(c.parts.kept)}
	case c.decodes && c.parts.decoded == 0:
		return usage{"nothing in any component is quantized, so there is nothing to dequantize; --copy writes it all the same"}
	}
	return nil
}

// parts is what became of the components so far.
type parts struct {
	quantized int // components
	decoded   int // components
	kept      []convert.KeptMatrix
}

// foldersOf lists the folders of a pipeline.
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
func (s *session) component(ctx context.Context, c *conversion, path, temp, target string) error {
	b := s.longPolicy().Budget(ctx)
	defer b.Close()
	name := filepath.Base(path)
	d, err := parser.OpenFolder(b, path)
	if err != nil {
		return err
	}
	defer d.Close()
	if !hasWeights(d) {
		if temp == "" {
			return nil
		}
		if err := os.Mkdir(filepath.Join(temp, name), 0o777); err != nil {
			return err
		}
		beside, err := convert.CopyFolder(b, d, filepath.Join(temp, name), c.flags.CopyCode, true)
		if err == nil {
			s.copied(name, beside)
		}
		return err
	}
	return s.oneComponent(ctx, b, c, path, temp, target)
}

// errNothing is that a component has nothing to quantize.
var errNothing = errors.New("nothing in it is quantized")

// oneComponent converts a component that is a model. One of which nothing is quantized
// is copied.
func (s *session) oneComponent(ctx context.Context, b *limits.Budget, c *conversion, path, temp, target string) error {
	name := filepath.Base(path)
	one, flags := *c, *c.flags
	flags.Path, flags.Output = path, filepath.Join(target, name)
	if temp != "" {
		flags.Output = filepath.Join(temp, name)
	}
	one.flags, one.admit, one.written = &flags, nil, written{path: path}
	if c.opts.Quantize != nil {
		one.nothing = ""
		one.admit = func(w *written) error {
			if len(w.plan.Quantized.Weights) == 0 {
				kept := w.plan.Quantized.Kept
				c.parts.kept, c.nothing = append(c.parts.kept, kept...), "nothing"+leftAlone(kept)
				return errNothing
			}
			c.parts.quantized++
			return admitQuantized(w)
		}
	}
	if c.decodes {
		one.admit = func(w *written) error {
			c.parts.decoded += min(1, len(w.plan.Weights))
			return nil
		}
	}
	if temp == "" { // a rehearsal looks at the place of the folder, which is not there
		flags.Output = filepath.Join(filepath.Dir(filepath.Clean(target)), name+"-of-"+filepath.Base(target))
	}
	one.err = s.carryOut(ctx, b, &one)
	if one.model != nil {
		defer one.model.Close()
	}
	if errors.Is(one.err, errNothing) {
		plain := *c
		plain.opts.Quantize, plain.patterns = nil, nil
		return s.oneComponent(ctx, b, &plain, path, temp, target)
	}
	if one.err == nil && (one.opts.Sink != nil && one.opts.Sink.Name() != safetensors.Format || !one.folder) {
		one.err = usage{"a pipeline is written as safetensors"}
	}
	if one.written.target != "" {
		one.written.target = filepath.Join(target, name)
	}
	return s.reported(&one)
}

// copied says which files of a folder came along.
func (s *session) copied(name string, beside *convert.Beside) {
	if s.json || s.quiet {
		return
	}
	s.prose(0, "%s:", showPath(name))
	s.printBeside(&convert.Result{Beside: beside})
}

// reported prints what became of a component.
func (s *session) reported(one *conversion) error {
	if _, ok := errors.AsType[interrupted](one.err); ok {
		return one.err
	}
	s.note(one.err)
	if s.json {
		if err := s.printWrittenJSON(one); err != nil {
			return err
		}
	} else if one.err == nil && !s.quiet {
		s.prose(0, "%s:", filepath.Base(one.path))
		if one.nothing != "" {
			s.fact("", "Quantized", one.nothing)
		}
		s.printWritten(one)
	}
	if one.err != nil {
		s.complain(one.path, one.err)
		return errComponent
	}
	return nil
}

// hasWeights reports a folder with a file of weights that is read here.
func hasWeights(files fs.FS) bool {
	list, err := fs.ReadDir(files, ".")
	return err == nil && slices.ContainsFunc(list, func(e fs.DirEntry) bool {
		ext := strings.ToLower(filepath.Ext(e.Name()))
		return !e.IsDir() && slices.ContainsFunc(parser.Formats(), func(f parser.Format) bool { return slices.Contains(f.Extensions, ext) })
	})
}
