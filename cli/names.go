package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// tensorsFlag reads checkpoints whose pickles hold more than data.
type tensorsFlag struct {
	TensorsOnly bool `help:"Read the tensors of a checkpoint even if its pickle uses classes that are not allowed. Nothing is run; everything that is not understood is listed. amn scan still refuses such a file."`
}

// grant grants the leniency to what the command opens.
func (f *tensorsFlag) grant(s *session) {
	s.strictPickles = !f.TensorsOnly
	if f.TensorsOnly {
		s.policy.Quirks = append(s.policy.Quirks, pth.QuirkTensorsOnly)
	}
}

// nameFlags choose tensors and rename them, in the order in which they stand here.
type nameFlags struct {
	Select      string   `placeholder:"PATH" help:"Take only the tensors below this path, and remove it from their names: state_dict, ema (under the names that trainers use), or any path."`
	Keep        []string `placeholder:"GLOB" help:"Take only tensors whose name matches. Repeatable."`
	Drop        []string `placeholder:"GLOB" help:"Leave out tensors whose name matches, even if --keep matches. Repeatable."`
	StripPrefix string   `placeholder:"TEXT" help:"Remove this prefix from names that begin with it."`
	Rename      []string `placeholder:"FROM=TO" help:"Rename. Each * in FROM matches any text, as short as possible, and the * in TO stand for the same texts in order. The first matching pattern is used; --dry-run prints both names. Repeatable."`
}

// askedGlobs are patterns of a flag, and which of them a name has fitted.
type askedGlobs struct {
	flag string
	list globs
	fits []bool
}

func (a *askedGlobs) match(name string) bool {
	any := false
	for i := range a.list {
		if a.list[i : i+1].match(name) {
			a.fits[i], any = true, true
		}
	}
	return any
}

// all tries every name of a model, and the end of it below each path that may have been selected:
// where the names were refused, not all of them have been tried.
func (a *askedGlobs) all(b *limits.Budget, m tensor.Model) error {
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

// unused names a pattern that fitted no name: it is misspelt.
func (a *askedGlobs) unused() error {
	if i := slices.Index(a.fits, false); i >= 0 {
		return usage{fmt.Sprintf("%s: no tensor name matches %q", a.flag, a.list[i])}
	}
	return nil
}

// names is what the flags say, and the patterns of them of which each must fit a name.
func (f *nameFlags) names() (n convert.Names, asked []*askedGlobs, err error) {
	n = convert.Names{Select: f.Select, Strip: f.StripPrefix}
	for _, g := range []struct {
		flag  string
		list  globs
		match *func(string) bool
	}{{"--keep", f.Keep, &n.Keep}, {"--drop", f.Drop, &n.Drop}} {
		if g.list.check() != nil {
			return n, nil, fmt.Errorf("%s: * is any text, ? one character, [a-z] a character of a range", g.flag)
		}
		if len(g.list) > 0 {
			a := &askedGlobs{g.flag, g.list, make([]bool, len(g.list))}
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

// take gives the model the names that were asked for.
func (f *nameFlags) take(b *limits.Budget, c *conversion) error {
	n, asked, err := f.names()
	if err != nil || n.IsZero() {
		return err
	}
	if c.fits != nil {
		return usage{"a pipeline is converted component by component: name one of them to choose tensors or to rename them"}
	}
	m, err := n.Model(b, c.model)
	for _, a := range asked {
		if err != nil {
			if err := a.all(b, c.model); err != nil {
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

// printRenamed says what was chosen and renamed.
func (s *session) printRenamed(c *conversion) {
	m := c.names
	if m == nil {
		return
	}
	n := int64(0)
	for range m.Renames() {
		n++
	}
	text := plural(n, "tensor")
	if m.Left > 0 {
		text += fmt.Sprintf("; %s not taken", formatCount(int64(m.Left)))
	}
	s.fact("", "Renamed", text)
	if !c.rehearsed {
		return
	}
	list := make([][2]string, 0, n)
	for from, to := range m.Renames() {
		list = append(list, [2]string{from, to})
	}
	slices.SortStableFunc(list, func(a, b [2]string) int { return wire.Natural(a[0], b[0]) })
	for _, r := range list {
		from, to := nameText(r[0]), nameText(r[1])
		if half := (s.columns - 6) / 2; s.columns > 0 && half < minLast { // a line for each
			s.line("  %s", cutName(from, s.columns-2))
			s.line("    -> %s", cutName(to, s.columns-7))
			continue
		} else if s.columns > 0 {
			from, to = cutName(from, half), cutName(to, half)
		}
		s.line("  %s -> %s", from, to)
	}
}

func jsonRenamed(o *jsonObject, c *conversion) {
	m := c.names
	if m == nil {
		return
	}
	o.number("not_taken", int64(m.Left))
	o.list("renamed", func(add func(func(*jsonObject))) {
		for from, to := range m.Renames() {
			add(func(o *jsonObject) {
				o.text("from", from)
				o.text("to", to)
			})
		}
	})
}

// otherValues sums up what a checkpoint holds that is no tensor, "" for nothing.
func otherValues(m tensor.Model) string {
	if m.Format() != "pth" {
		return ""
	}
	v := viewOf(m)
	return metadata(m, &v)
}

// notUnderstood lists what was passed over.
func notUnderstood(m tensor.Model) []string {
	var list []string
	for _, f := range m.Findings() {
		if f.Code == "pth.not-understood" {
			list = append(list, tidy(f.Text, wire.MaxMessage))
		}
	}
	return list
}

// printLeftBehind says what of a checkpoint is not written.
func (s *session) printLeftBehind(m tensor.Model) {
	if text := otherValues(m); text != "" {
		s.cutFact("", "Values", "not written, since they are not tensors: "+text)
	}
	list := notUnderstood(m)
	if len(list) == 0 {
		return
	}
	s.fact("", "Passed over", plural(int64(len(list)), "thing")+" of the pickle; nothing was run")
	for _, text := range few(list) {
		s.line("  %s", text)
	}
}

// few are the first of a list, and how many more there are.
func few(list []string) []string {
	if len(list) <= maxLeftOut {
		return list
	}
	return append(slices.Clone(list[:maxLeftOut]), fmt.Sprintf("and %d more", len(list)-maxLeftOut))
}

// tellPassedOver says beside the output of a command what of a checkpoint was not understood.
func (s *session) tellPassedOver(path string, m tensor.Model) {
	if list := notUnderstood(m); len(list) > 0 && !s.quiet {
		fmt.Fprintf(s.err, "amn: %s: %s of the pickle passed over; nothing was run\n", showPath(path), plural(int64(len(list)), "thing"))
		for _, text := range few(list) {
			fmt.Fprintf(s.err, "     %s\n", text)
		}
	}
}

func jsonLeftBehind(o *jsonObject, m tensor.Model) {
	if m.Format() == "pth" {
		n := int64(0)
		for range m.Meta() {
			n++
		}
		o.number("values", n)
	}
	if list := notUnderstood(m); len(list) > 0 {
		o.list("not_understood", func(add func(func(*jsonObject))) {
			for _, text := range list {
				add(func(o *jsonObject) { o.field("text", text) })
			}
		})
	}
}
