package write

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/flags"
	"github.com/anamnesis-go/anamnesis/cli/internal/jsonout"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// nameFlags choose tensors and rename them, in the order of the fields.
type nameFlags struct {
	Select      string   `placeholder:"PATH" help:"Take only the tensors below this path, and remove it from their names: state_dict, ema (under the names that trainers use), or any path."`
	Keep        []string `placeholder:"GLOB" help:"Take only tensors whose name matches. Repeatable."`
	Drop        []string `placeholder:"GLOB" help:"Leave out tensors whose name matches, even if --keep matches. Repeatable."`
	StripPrefix string   `placeholder:"TEXT" help:"Remove this prefix from names that begin with it."`
	Rename      []string `placeholder:"FROM=TO" help:"Rename. Each * in FROM matches any text, as short as possible, and the * in TO stand for the same texts in order. The first matching pattern is used; --dry-run prints both names. Repeatable."`
}

// trackedGlobs are the patterns of a flag, with which of them have matched a name.
type trackedGlobs struct {
	flag    string
	list    flags.Globs
	matched []bool
}

func (a *trackedGlobs) match(name string) bool {
	any := false
	for i := range a.list {
		if a.list[i : i+1].Match(name) {
			a.matched[i], any = true, true
		}
	}
	return any
}

// matchAll matches every name of a model, and what is left of the name below each path that
// --select may have chosen. It is for the case that applying the names failed, and so did not
// see all of them.
func (a *trackedGlobs) matchAll(b *limits.Budget, m tensor.Model) error {
	for t := range m.Tensors() {
		for name, more := t.Name, true; more; _, name, more = strings.Cut(name, ".") {
			if err := b.Step(1 + int64(len(name))); err != nil { // a name may be many dots
				return err
			}
			a.match(name)
		}
	}
	return nil
}

// unused returns an error about a pattern that has matched no name, and so is misspelt.
func (a *trackedGlobs) unused() error {
	if i := slices.Index(a.matched, false); i >= 0 {
		return fault.Usage(fmt.Sprintf("%s: no tensor name matches %q", a.flag, a.list[i]))
	}
	return nil
}

// names returns the changes that the flags ask for, and the patterns each of which must
// match a name.
func (f *nameFlags) names() (n convert.Names, asked []*trackedGlobs, err error) {
	n = convert.Names{Select: f.Select, Strip: f.StripPrefix}
	for _, g := range []struct {
		flag  string
		list  flags.Globs
		match *func(string) bool
	}{{"--keep", f.Keep, &n.Keep}, {"--drop", f.Drop, &n.Drop}} {
		if g.list.Check() != nil {
			return n, nil, fmt.Errorf("%s: * is any text, ? one character, [a-z] a character of a range", g.flag)
		}
		if len(g.list) > 0 {
			a := &trackedGlobs{g.flag, g.list, make([]bool, len(g.list))}
			asked, *g.match = append(asked, a), a.match
		}
	}
	for _, text := range f.Rename {
		r, err := convert.ParseRenaming(text)
		if err != nil {
			return n, nil, fmt.Errorf("--rename: %w", err)
		}
		n.Rename = append(n.Rename, r)
	}
	return n, asked, nil
}

// apply renames and selects the tensors of the model.
func (f *nameFlags) apply(b *limits.Budget, c *conversion) error {
	n, asked, err := f.names()
	if err != nil || n.IsZero() {
		return err
	}
	if c.fits != nil {
		return fault.Usage("a pipeline is converted component by component: to choose or rename tensors, name one component")
	}
	m, err := n.Model(b, c.model)
	for _, a := range asked {
		if err != nil { // which may be due to a misspelt pattern: that is the better message
			if err := a.matchAll(b, c.model); err != nil {
				return err
			}
		}
		if err := a.unused(); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	c.model, c.names = m, m
	return nil
}

// printRenamed prints how many tensors were chosen and renamed; a dry run lists them.
func printRenamed(s *run.Run, c *conversion) {
	m := c.names
	if m == nil {
		return
	}
	n := int64(0)
	for range m.Renames() {
		n++
	}
	text := term.Plural(n, "tensor")
	if m.Left > 0 {
		text += fmt.Sprintf("; %s not taken", term.Count(int64(m.Left)))
	}
	s.Out.Fact("", "Renamed", text)
	if !c.dryRun {
		return
	}
	list := make([][2]string, 0, n)
	for from, to := range m.Renames() {
		list = append(list, [2]string{from, to})
	}
	slices.SortStableFunc(list, func(a, b [2]string) int { return wire.Natural(a[0], b[0]) })
	for _, r := range list {
		from, to := term.Name(r[0]), term.Name(r[1])
		if half := (s.Out.Columns - 6) / 2; s.Out.Columns > 0 && half < term.MinLast { // a line for each
			s.Out.Line("  %s", term.CutName(from, s.Out.Columns-2))
			s.Out.Line("    -> %s", term.CutName(to, s.Out.Columns-7))
			continue
		} else if s.Out.Columns > 0 {
			from, to = term.CutName(from, half), term.CutName(to, half)
		}
		s.Out.Line("  %s -> %s", from, to)
	}
}

func jsonRenamed(o *jsonout.Object, c *conversion) {
	m := c.names
	if m == nil {
		return
	}
	o.Number("not_taken", int64(m.Left))
	o.List("renamed", func(add func(func(*jsonout.Object))) {
		for from, to := range m.Renames() {
			add(func(o *jsonout.Object) {
				o.Text("from", from)
				o.Text("to", to)
			})
		}
	})
}
