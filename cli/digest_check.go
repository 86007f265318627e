package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// check compares models with a manifest.
func (c *digestCmd) check(ctx context.Context, s *session) error {
	f, err := os.Open(c.Check)
	if err != nil {
		return err
	}
	defer f.Close()
	b := s.longPolicy().Budget(ctx)
	defer b.Close()
	models := newManifestReader(b, f)
	n := 0
	for ; ; n++ {
		want, err := models.next()
		if err == io.EOF {
			break
		}
		if errors.Is(err, errManifest) {
			return usage{showPath(c.Check) + " is not a manifest of amn hash"}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", showPath(c.Check), err)
		}
		path := filepath.Join(filepath.Dir(c.Check), filepath.FromSlash(want.Path))
		if filepath.IsAbs(want.Path) {
			path = want.Path
		}
		if len(c.Paths) == 1 {
			path = c.Paths[0]
		}
		if n > 0 && len(c.Paths) == 1 {
			return usage{showPath(c.Check) + " lists several models: leave the model out to check all of them"}
		}
		d := c.digestModel(ctx, s, path, func(b *limits.Budget) (tensor.Model, error) { return parser.Open(b, path) })
		if err, ok := errors.AsType[interrupted](d.err); ok {
			return err
		}
		if err := c.compare(s, d, want); err != nil {
			return err
		}
	}
	if n == 0 {
		return usage{showPath(c.Check) + " is not a manifest of amn hash"}
	}
	return nil
}

// compare reports the differences of one model from the manifest.
func (c *digestCmd) compare(s *session, d *digests, want *manifestModel) error {
	if d.err != nil {
		s.note(d.err)
		s.printError(d.path, d.err)
		return nil
	}
	wrong := c.differences(d, want)
	if len(wrong) > 0 {
		s.worst = max(s.worst, wire.Differs)
	}
	if s.json {
		object(s.out, func(o *jsonObject) {
			o.field("schema", "amn.digest-check/1")
			o.text("path", d.path)
			o.field("same", len(wrong) == 0)
			o.field("differences", append([]string{}, wrong...))
		})
		s.out.WriteByte('\n')
		return s.out.Flush()
	}
	if len(wrong) == 0 {
		fmt.Fprintf(s.out, "%s: the same, %s\n", showPath(d.path), plural(int64(len(d.tensors)), "tensor"))
	}
	for i, text := range wrong {
		if i == 20 {
			fmt.Fprintf(s.out, "%s: and %s more\n", showPath(d.path), formatCount(int64(len(wrong)-i)))
			break
		}
		fmt.Fprintf(s.out, "%s: %s\n", showPath(d.path), text)
	}
	return s.out.Flush()
}

// differences returns the differences between a model and the manifest.
func (c *digestCmd) differences(d *digests, want *manifestModel) (wrong []string) {
	if !c.Tensors {
		for _, f := range d.files {
			if i := slices.IndexFunc(want.Files, func(p manifestEntry) bool { return p.Name == f.name }); i < 0 {
				wrong = append(wrong, "file "+tidy(f.name, 256)+" is not in the manifest")
			} else if !strings.EqualFold(want.Files[i].SHA256, f.sum.String()) {
				wrong = append(wrong, "file "+tidy(f.name, 256)+" differs")
			}
		}
		if len(d.files) < len(want.Files) {
			wrong = append(wrong, fmt.Sprintf("the manifest has %s, the model %d", plural(int64(len(want.Files)), "file"), len(d.files)))
		}
	}
	if d.model.String() == want.Model {
		return wrong
	}
	left := map[string]manifestEntry{}
	for _, t := range want.Tensors {
		left[t.Name] = t
	}
	for _, t := range d.tensors {
		was, ok := left[t.Name]
		delete(left, t.Name)
		switch name := "tensor " + wire.Quote(t.Name); {
		case !ok:
			wrong = append(wrong, name+" is not in the manifest")
		case was.DType != t.Type || !slices.Equal(was.Shape, t.Shape):
			wrong = append(wrong, fmt.Sprintf("%s is %s %s, it was %s %s", name, tidy(t.Type, 64), formatShape(t.Shape), tidy(was.DType, 64), formatShape(was.Shape)))
		case was.SHA256 != t.Sum.String():
			wrong = append(wrong, name+" differs")
		}
	}
	for _, t := range want.Tensors {
		if _, ok := left[t.Name]; ok {
			wrong = append(wrong, "tensor "+wire.Quote(t.Name)+" is missing")
		}
	}
	if len(wrong) == 0 {
		wrong = append(wrong, "the manifest contradicts itself")
	}
	return wrong
}
