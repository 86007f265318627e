package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/disk"
	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/jsonout"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/digest"
	"github.com/anamnesis-go/anamnesis/internal/folder"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// check compares models with a manifest.
func (c *Hash) check(ctx context.Context, s *run.Run) error {
	f, err := disk.OpenNamed(c.Check)
	if err != nil {
		return err
	}
	defer f.Close()
	b := s.Policy.Long().Budget(ctx)
	defer b.Close()
	models := newManifestReader(b, f)
	known := &compared{models: map[string]bool{}, files: map[string]bool{}, folders: map[searched]bool{}}
	for {
		want, err := models.next()
		if err == io.EOF {
			break
		}
		if errors.Is(err, errManifest) {
			return fault.Usage(term.Path(c.Check) + " is not a manifest of amn hash")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", term.Path(c.Check), err)
		}
		path := c.stated(want.Path)
		if len(c.Paths) == 1 {
			path = c.Paths[0]
		}
		if err := c.admit(b, known, want, path); err != nil {
			return err
		}
		if err := cmp.Or(c.inside(want.Path), c.inside(cmp.Or(want.Folder, "."))); err != nil {
			if err := c.compare(s, &digests{path: path, err: err}, want); err != nil {
				return err
			}
			continue
		}
		if len(c.Paths) == 0 && !filepath.IsAbs(path) {
			path = "." + string(filepath.Separator) + path // a file, even if it is called ollama:m
		}
		d := c.digestModel(ctx, s, path, func(b *limits.Budget) (tensor.Model, error) { return parser.Open(b, path) })
		if err, ok := errors.AsType[fault.Interrupted](d.err); ok {
			return err
		}
		if err := c.compare(s, d, want); err != nil {
			return err
		}
		known.add(d)
		if len(c.Paths) == 0 && want.Folder != "" {
			known.addFolder(d, searched{c.stated(want.Folder), want.Recursive})
		}
	}
	if len(known.models) == 0 {
		return fault.Usage(term.Path(c.Check) + " is not a manifest of amn hash")
	}
	return c.newer(s, known)
}

// admit refuses an entry that amn hash would not have written, or that would cost more than it.
func (c *Hash) admit(b *limits.Budget, known *compared, want *manifestModel, path string) error {
	if len(known.models) > 0 && len(c.Paths) == 1 {
		return fault.Usage(term.Path(c.Check) + " lists several models: leave the model out to check all of them")
	}
	if err := b.Hold(int64(len(path)+len(want.Folder)) + 128); err != nil {
		return fmt.Errorf("%s: %w", term.Path(c.Check), err)
	}
	if known.models[filepath.Clean(path)] { // each entry would cost a reading of the whole model
		return fault.Usage(term.Path(c.Check) + " states the model " + term.Path(want.Path) + " twice: it is not what amn hash wrote")
	}
	known.models[filepath.Clean(path)] = true
	if want.Folder != "" && !below(want.Path, want.Folder) {
		return fault.Usage(term.Path(c.Check) + " is not a manifest of amn hash") // its folders hold its models
	}
	return nil
}

// stated returns the path of what a manifest names.
func (c *Hash) stated(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(c.Check), filepath.FromSlash(name))
}

// inside refuses a name outside of the manifest's folder. A manifest may come from the same source
// as the models, and must not choose which files of this machine are opened.
func (c *Hash) inside(name string) error {
	if c.Outside || len(c.Paths) == 1 {
		return nil
	}
	refuse := func(why string) error {
		return wire.At("manifest", "", wire.NoOffset, wire.ErrForbidden.Errorf("it names %s, %s: --outside opens it nevertheless", wire.Quote(name), why))
	}
	local := filepath.FromSlash(name)
	if !filepath.IsLocal(local) {
		return refuse("which is outside of its folder")
	}
	e := folder.At(filepath.Dir(c.Check), filepath.ToSlash(local))
	if e.Kind == folder.Astray {
		return refuse(e.Why)
	}
	return nil
}

// compare reports the differences of one model from the manifest.
func (c *Hash) compare(s *run.Run, d *digests, want *manifestModel) error {
	if d.err != nil {
		s.Count.Note(d.err)
		s.PrintError(d.path, d.err)
		return nil
	}
	wrong := c.differences(d, want)
	if len(wrong) > 0 {
		s.Count.Worst = max(s.Count.Worst, wire.Differs)
	}
	if s.JSON {
		printCompared(s, d.path, wrong)
		return s.Out.Flush()
	}
	if len(wrong) == 0 {
		fmt.Fprintf(s.Out, "%s: the same, %s\n", term.Path(d.path), term.Plural(int64(len(d.tensors)), "tensor"))
	}
	for i, text := range wrong {
		if i == 20 {
			fmt.Fprintf(s.Out, "%s: and %s more\n", term.Path(d.path), term.Count(int64(len(wrong)-i)))
			break
		}
		fmt.Fprintf(s.Out, "%s: %s\n", term.Path(d.path), text)
	}
	return s.Out.Flush()
}

// printCompared prints the differences of a model from the manifest as JSON.
func printCompared(s *run.Run, path string, wrong []string) {
	jsonout.Write(s.Out.Writer, func(o *jsonout.Object) {
		o.Field("schema", "amn.digest-check/1")
		o.Text("path", path)
		o.Field("same", len(wrong) == 0)
		o.Field("differences", append([]string{}, wrong...))
	})
	s.Out.WriteByte('\n')
}

// differences returns the differences between a model and the manifest: in everything that
// the manifest states, or with --tensors only in the tensors.
func (c *Hash) differences(d *digests, want *manifestModel) []string {
	var wrong []string
	if !c.Tensors {
		if d.format != want.Format {
			wrong = append(wrong, fmt.Sprintf("the format is %s, it was %s", d.format, term.Tidy(want.Format, 64)))
		}
		wrong = append(wrong, differentFiles(d.files, want.Files)...)
	}
	wrong = append(wrong, differentTensors(d.tensors, want.Tensors)...)
	if !sameDigest(want.Model, d.model.String()) {
		if len(wrong) == 0 {
			return []string{"the manifest contradicts itself: its tensors are those of the model, its digest of the model is not"}
		}
		wrong = append(wrong, "the digest of the model differs")
	}
	return wrong
}

func sameDigest(a, b string) bool { return strings.EqualFold(a, b) }

// differentFiles compares the files of a model with those of a manifest.
func differentFiles(files []fileDigest, stated []manifestEntry) (wrong []string) {
	left, wrong := byName("file", stated)
	for _, f := range files {
		name := "file " + term.Tidy(f.name, 256)
		was, ok := left[f.name]
		delete(left, f.name)
		switch {
		case !ok:
			wrong = append(wrong, name+" is not in the manifest")
		case !sameDigest(was.SHA256, f.sum.String()):
			wrong = append(wrong, name+" differs")
		case was.Size != f.size:
			wrong = append(wrong, fmt.Sprintf("%s has %s, the manifest states %s", name, term.Plural(f.size, "byte"), term.Plural(was.Size, "byte")))
		}
	}
	for _, f := range stated {
		if _, ok := left[f.Name]; ok {
			wrong = append(wrong, "file "+term.Tidy(f.Name, 256)+" is missing")
		}
	}
	return wrong
}

// differentTensors compares the tensors of a model with those of a manifest.
func differentTensors(tensors []digest.Tensor, stated []manifestEntry) (wrong []string) {
	left, wrong := byName("tensor", stated)
	for _, t := range tensors {
		name := "tensor " + wire.Quote(t.Name)
		was, ok := left[t.Name]
		delete(left, t.Name)
		switch {
		case !ok:
			wrong = append(wrong, name+" is not in the manifest")
		case was.DType != t.Type || !slices.Equal(was.Shape, t.Shape):
			wrong = append(wrong, fmt.Sprintf("%s is %s %s, it was %s %s", name, term.Tidy(t.Type, 64), term.Shape(t.Shape), term.Tidy(was.DType, 64), term.Shape(was.Shape)))
		case !sameDigest(was.SHA256, t.Sum.String()):
			wrong = append(wrong, name+" differs")
		case was.Size != t.Bytes:
			wrong = append(wrong, fmt.Sprintf("%s has %s, the manifest states %s", name, term.Plural(t.Bytes, "byte"), term.Plural(was.Size, "byte")))
		}
	}
	for _, t := range stated {
		if _, ok := left[t.Name]; ok {
			wrong = append(wrong, "tensor "+wire.Quote(t.Name)+" is missing")
		}
	}
	return wrong
}

// byName returns the entries of a manifest by name, and an error text for each name that two have.
func byName(what string, list []manifestEntry) (by map[string]manifestEntry, wrong []string) {
	by = make(map[string]manifestEntry, len(list))
	for _, e := range list {
		if _, twice := by[e.Name]; twice {
			wrong = append(wrong, "the manifest contradicts itself: it states "+what+" "+wire.Quote(e.Name)+" twice")
		}
		by[e.Name] = e
	}
	return by, wrong
}
