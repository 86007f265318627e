package verify

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	gopath "path"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/anamnesis-go/anamnesis/cli/internal/disk"
	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/flags"
	"github.com/anamnesis-go/anamnesis/cli/internal/jsonout"
	"github.com/anamnesis-go/anamnesis/cli/internal/report"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/digest"
	"github.com/anamnesis-go/anamnesis/internal/folder"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/onnx"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Hash hashes the files and the tensors of models.
type Hash struct {
	Paths     []string `arg:"" optional:"" name:"path" help:"Files, folders of models, or ollama:NAME."`
	Recursive bool     `short:"r" help:"Include subfolders."`
	Output    string   `short:"o" placeholder:"FILE" help:"Write a manifest: one JSON object per model, as --json prints it."`
	Force     bool     `short:"f" help:"Replace an existing manifest."`
	Check     string   `placeholder:"FILE" help:"Compare the models of a manifest, or the one named model, with it. Exit code 8 if they differ."`
	Outside   bool     `help:"With --check: also open models that the manifest names outside of its folder."`
	Tensors   bool     `help:"With --check: compare only tensors, so that the same model in another format is equal."`
	Threads   int      `placeholder:"N" help:"Maximum number of workers (default: all processors)."`

	flags.TensorsFlag `embed:""`
}

func (Hash) Help() string {
	return `Prints three kinds of SHA-256: of each file of a model; of the logical bytes of each tensor,
which are the same in safetensors, npz, checkpoints and GGUF; and of the whole model, which
covers names, types, shapes and digests, sorted by name. Logical bytes are the elements in
row-major, little-endian order; of quantized blocks, the stored bytes.

A manifest is written next to a model or its folder. Its paths are relative to it. --check opens
nothing that a manifest names outside of its own folder, unless --outside is given. If the manifest
was made of a folder, a model that was added to the folder later is a difference; with -r, so is a
link to a folder elsewhere. A manifest is written or replaced only if everything was hashed. Only
files with names of models are compared: not config.json, nor pickles, ONNX or compressed files with
other names. amn scan --attest and amn verify cover all files.`
}

func (Hash) Examples() []run.Example {
	return []run.Example{
		{Command: "amn hash model.safetensors", What: "What is in it?"},
		{Command: "amn hash -r -o manifest.json models", What: "Record all models of a folder."},
		{Command: "amn hash --check manifest.json", What: "Has anything changed?"},
	}
}

// Validate checks the flags.
func (c *Hash) Validate() error {
	switch {
	case c.Check == "" && len(c.Paths) == 0:
		return errors.New("name a model (a file, a folder, ollama:NAME, or - for standard input), or a manifest with --check")
	case c.Check == "" && (c.Tensors || c.Outside):
		return errors.New("--tensors and --outside need --check")
	case c.Check != "" && (len(c.Paths) > 1 || c.Output != "" || c.Recursive):
		return errors.New("--check takes one model at most, and writes nothing")
	case c.Threads < 0:
		return errors.New("--threads: give a number of workers")
	}
	return nil
}

// Run implements the command.
func (c *Hash) Run(ctx context.Context, s *run.Run) error {
	c.Grant(s)
	if c.Check != "" {
		return c.check(ctx, s)
	}
	out, err := c.manifest()
	if err != nil {
		return err
	}
	defer out.Discard()
	failed := false
	for _, arg := range c.Paths {
		if arg == "-" {
			return fault.Usage("amn hash reads files, not standard input")
		}
		from := folderOf(arg, c.Recursive || run.IsPipeline(arg))
		for src, err := range from.models(arg) {
			d := &digests{path: src.Path, err: err}
			if err == nil {
				d = c.digestModel(ctx, s, src.Path, func(b *limits.Budget) (tensor.Model, error) { return src.Open(b) })
			}
			d.from = from
			if err, ok := errors.AsType[fault.Interrupted](d.err); ok {
				return err
			}
			if err := c.print(s, out, d); err != nil {
				return err
			}
			failed = failed || d.err != nil
		}
	}
	if failed && out != nil { // a manifest says that it lists all models
		s.PrintError("", errors.New("no manifest was written, because not everything was hashed"))
		return nil
	}
	return out.Commit()
}

// digests are the digests of one model.
type digests struct {
	from         searched
	path, format string
	err          error
	files        []fileDigest
	tensors      []digest.Tensor
	model        digest.Sum
}

type fileDigest struct {
	name string // relative to the model's folder
	path string
	part int32 // which of the model's files it is, or digest.NoPart
	size int64
	sum  digest.Sum
}

// digestModel reads a model and its files.
func (c *Hash) digestModel(ctx context.Context, s *run.Run, path string, open func(*limits.Budget) (tensor.Model, error)) *digests {
	d := &digests{path: path}
	b := s.Policy.Long().Budget(ctx)
	defer b.Close()
	m, err := open(b)
	if err != nil {
		d.err = err
		return d
	}
	defer m.Close()
	report.PrintSkipped(s, path, m)
	if d.err = report.VerifyGated(s, b, m); d.err != nil {
		return d
	}
	var read atomic.Int64
	var total int64
	d.format = m.Format()
	for i := range m.Tensors() {
		total = wire.AddCap(total, i.Bytes())
	}
	files, size, err := filesOf(m, path)
	if err != nil {
		d.err = err
		return d
	}
	total = wire.AddCap(total, size)
	done := s.Progress("hashing "+term.Path(path), func() (int64, int64) { return read.Load(), total })
	defer done()
	o := digest.Options{Workers: cmp.Or(c.Threads, s.Workers), Done: &read}
	if d.files, d.tensors, d.err = hashFiles(b, m, files, o); d.err != nil {
		return d
	}
	if d.model, d.err = digest.Model(b, d.tensors); d.err == nil {
		d.err = parser.Unchanged(b, m)
	}
	return d
}

// filesOf returns the files of a model and their total size; a model of a store has none. It
// takes the files of a folder that a scan takes.
func filesOf(m tensor.Model, path string) (list []fileDigest, size int64, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, nil // a model of a store
	}
	dir := filepath.Dir(path)
	if info.IsDir() {
		dir = path
	}
	names, parts := fileNamesOf(m, path, info.IsDir())
	for i, name := range names {
		e := folder.At(dir, filepath.ToSlash(name))
		named := !info.IsDir() && name == filepath.Base(path) // the caller may name a link
		if err := e.Refusal(); err != nil && !named {
			return nil, 0, err
		}
		info, err := os.Stat(e.Path)
		if err != nil {
			return nil, 0, err
		}
		f := fileDigest{name: e.Name, path: e.Path, part: digest.NoPart, size: info.Size()}
		if i < parts {
			f.part = int32(i)
		}
		list, size = append(list, f), wire.AddCap(size, info.Size())
	}
	return list, size, nil
}

// fileNamesOf returns the names of a model's files. The tensors are in the first ones, whose number
// is parts.
func fileNamesOf(m tensor.Model, path string, inFolder bool) (names []string, parts int) {
	if set, ok := m.(interface {
		FileNames() []string
		IndexName() string
	}); ok {
		names = slices.Clone(set.FileNames())
		parts = len(names)
		if index := set.IndexName(); index != "" { // loaders follow it
			names = append(names, index)
		}
		return names, parts
	}
	var outside []string
	if f, ok := m.(*onnx.File); ok {
		outside = f.External
	}
	if names = []string{filepath.Base(path)}; inFolder { // the only model of the folder
		names = nil
		parser.EachFile(m, func(was, _ fs.FileInfo, _ error) {
			if !slices.ContainsFunc(outside, func(name string) bool { return gopath.Base(name) == was.Name() }) {
				names = append(names, was.Name())
			}
		})
	}
	if parts = 1 + len(outside); len(names) != 1 {
		parts = 0
	}
	return append(names, outside...), parts
}

// print prints the digests of a model, and adds them to the manifest.
func (c *Hash) print(s *run.Run, out *disk.Atomic, d *digests) error {
	s.Count.Note(d.err)
	if s.JSON {
		d.json(s.Out.Writer, func(path string) string { return path })
	} else if d.err == nil {
		d.text(s, out == nil)
	}
	if out != nil && d.err == nil {
		d.json(out.W, func(path string) string { return relativeTo(out.Path, path) })
	}
	if d.err != nil {
		s.PrintError(d.path, d.err)
		return nil
	}
	return s.Out.Flush()
}

// text prints the digests for people, those of files as sha256sum does. Without all, the
// tensors are left out.
func (d *digests) text(s *run.Run, all bool) {
	if s.Out.Printed && all {
		s.Out.WriteByte('\n')
	}
	s.Out.Printed = true
	for _, f := range d.files {
		fmt.Fprintf(s.Out, "%s  %s\n", f.sum, term.Path(f.path))
	}
	fmt.Fprintf(s.Out, "%s  model of %s, %s\n", d.model, term.Path(d.path), term.Plural(int64(len(d.tensors)), "tensor"))
	if !all {
		return // the manifest has the tensors
	}
	list := slices.Clone(d.tensors)
	slices.SortStableFunc(list, func(a, b digest.Tensor) int { return wire.Natural(a.Name, b.Name) })
	width := 0
	for _, t := range list {
		width = max(width, term.Width(term.Tidy(t.Type, 64)+" "+term.Shape(t.Shape)))
	}
	for _, t := range list {
		fmt.Fprintf(s.Out, "  %s  %s  %s\n", t.Sum, term.Pad(term.Tidy(t.Type, 64)+" "+term.Shape(t.Shape), width), s.Out.LastName(term.Name(t.Name), 2*len(t.Sum)+width+6))
	}
}

// json writes the digests as an object in one line. where says how paths are written.
func (d *digests) json(w *bufio.Writer, where func(path string) string) {
	jsonout.Write(w, func(o *jsonout.Object) {
		o.Field("schema", "amn.digest/1")
		o.Text("path", where(d.path))
		if d.from.folder != "" {
			o.Text("folder", where(d.from.folder))
			o.Field("recursive", d.from.recursive)
		}
		o.Field("format", d.format)
		o.Field("class", fault.ClassOf(d.err).String())
		o.Field("exit", fault.ClassOf(d.err).ExitCode())
		if d.err != nil {
			o.Field("error", term.Tidy(fault.Message(d.path, d.err), wire.MaxMessage))
			return
		}
		o.Field("model", d.model.String())
		o.List("files", func(add func(func(*jsonout.Object))) {
			for _, f := range d.files {
				add(func(o *jsonout.Object) {
					o.Text("name", f.name)
					o.Number("size", f.size)
					o.Field("sha256", f.sum.String())
				})
			}
		})
		o.List("tensors", func(add func(func(*jsonout.Object))) {
			for _, t := range d.tensors {
				add(func(o *jsonout.Object) {
					o.Text("name", t.Name)
					o.Text("dtype", t.Type)
					o.Field("shape", append([]int64{}, t.Shape...))
					o.Number("bytes", t.Bytes)
					o.Field("sha256", t.Sum.String())
				})
			}
		})
	})
	w.WriteByte('\n')
}
