package convert

import (
	"iter"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/model"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Names selects tensors of a model and renames them, in the order of the fields. The zero
// value changes nothing.
type Names struct {
	// Select is the path of the part that is taken, such as "state_dict": the tensors below
	// it, with this prefix removed. "state_dict" and "ema" also match the names that
	// trainers use; see [Names.Model].
	Select string
	// Keep and Drop choose among the resulting names; nil keeps all and drops none.
	Keep, Drop func(string) bool
	// Strip is removed from names that begin with it.
	Strip string
	// Rename are patterns for whole names; the first match is applied.
	Rename []Renaming
}

// IsZero reports whether n changes nothing.
func (n *Names) IsZero() bool {
	return n.Select == "" && n.Keep == nil && n.Drop == nil && n.Strip == "" && len(n.Rename) == 0
}

// A Renaming changes names that match a pattern.
type Renaming struct{ from, to []string }

// ParseRenaming reads FROM=TO. Each * in FROM matches any text, as short as possible; the *
// in TO stand for the same texts, in order.
func ParseRenaming(text string) (Renaming, error) {
	from, to, ok := strings.Cut(text, "=")
	r := Renaming{strings.Split(from, "*"), strings.Split(to, "*")}
	switch {
	case !ok || from == "" || to == "":
		return r, wire.ErrUsage.Errorf("%s is not FROM=TO", wire.Quote(text))
	case len(r.to) > len(r.from):
		return r, wire.ErrUsage.Errorf("%s has more * after the = than before", wire.Quote(text))
	}
	return r, nil
}

// apply returns the new name if the pattern matches.
func (r *Renaming) apply(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, r.from[0])
	last := len(r.from) - 1
	if !ok || last == 0 {
		return r.to[0], ok && rest == ""
	}
	out := r.to[0]
	for i := 1; i <= last; i++ {
		at := strings.Index(rest, r.from[i])
		if i == last {
			at = len(rest) - len(r.from[i])
		}
		if at < 0 || rest[at:at+len(r.from[i])] != r.from[i] {
			return "", false
		}
		if i < len(r.to) {
			out += rest[:at] + r.to[i]
		}
		rest = rest[at+len(r.from[i]):]
	}
	return out, true
}

// parts has the names that trainers use for the part that Select names.
var parts = map[string][]string{
	"state_dict": {"state_dict", "model_state_dict", "model_state", "model", "module", "net"},
	"ema":        {"ema", "ema_state_dict", "state_dict_ema", "model_ema", "ema_model", "params_ema", "module_ema"},
}

// selected returns the path that Select means: the part of that name, else the only part
// with a name that trainers give it.
func (n *Names) selected(m tensor.Model) (string, error) {
	is := func(path string) bool {
		for i := range m.Tensors() {
			if strings.HasPrefix(i.Name, path+".") {
				return true
			}
		}
		return false
	}
	if is(n.Select) {
		return n.Select, nil
	}
	found := ""
	for _, path := range parts[n.Select] {
		switch {
		case !is(path):
		case found != "":
			return "", wire.ErrUsage.Errorf("%[3]s could be %[1]s or %[2]s: name one", wire.Quote(found), wire.Quote(path), wire.Quote(n.Select))
		default:
			found = path
		}
	}
	if found == "" {
		return "", wire.ErrUsage.Errorf("there are no tensors below %s", wire.Quote(n.Select))
	}
	return found, nil
}

// Model returns the selected tensors under their new names. The result owns m: closing it
// closes m. Names that collide, and options that match no tensor, are refused.
func (n *Names) Model(b *limits.Budget, m tensor.Model) (*Renamed, error) {
	r, err := n.model(b, m)
	if err != nil {
		return nil, wire.At("convert", "", wire.NoOffset, err)
	}
	return r, nil
}

func (n *Names) model(b *limits.Budget, m tensor.Model) (*Renamed, error) {
	one := *n
	if n.Select != "" {
		path, err := n.selected(m)
		if err != nil {
			return nil, err
		}
		one.Select = path
	}
	r := &Renamed{rule: one}
	var err error
	if r.used, err = limits.Make[bool](b, len(n.Rename)); err != nil {
		return nil, err
	}
	if r.Model, err = model.New(b, m.Len(), m); err != nil {
		return nil, err
	}
	r.Facts.Renamed = true
	for i := range m.Tensors() {
		if err := r.add(b, m, i); err != nil {
			return nil, err
		}
	}
	if r.Len() == 0 {
		return nil, wire.ErrUsage.Errorf("the chosen names leave no tensor")
	}
	if err := n.fits(r); err != nil {
		return nil, err
	}
	return r, r.tie(b, m)
}

// fits returns an error for options that changed nothing.
func (n *Names) fits(r *Renamed) error {
	switch {
	case n.Strip != "" && !r.stripped:
		return wire.ErrUsage.Errorf("no name begins with %s", wire.Quote(n.Strip))
	case n.Drop != nil && !r.dropped:
		return wire.ErrUsage.Errorf("no name matches what is to be dropped")
	}
	for i := range n.Rename {
		if !r.used[i] {
			return wire.ErrUsage.Errorf("no name matches the pattern %s, or each that does matches an earlier one", wire.Quote(strings.Join(n.Rename[i].from, "*")))
		}
	}
	return nil
}

// A Renamed is a model with a selection of tensors of another, under new names. Entries of
// metadata that name tied tensors have the new names, or are dropped with their tensor.
type Renamed struct {
	*model.Model
	rule Names
	// Left is the number of tensors that were not selected.
	Left int

	stripped, dropped bool
	used              []bool // patterns that renamed a tensor
}

// add adds a tensor if it is selected.
func (r *Renamed) add(b *limits.Budget, m tensor.Model, i tensor.Info) error {
	name, ok := r.name(i.Name)
	if !ok {
		r.Left++
		return nil
	}
	if name == "" {
		return wire.ErrUsage.Errorf("tensor %s would have no name", wire.Quote(i.Name))
	}
	if err := b.Hold(int64(len(name))); err != nil {
		return err
	}
	return r.Add(b, model.Same(m, i, name))
}

// name returns the new name of a tensor; ok is false if it is not selected.
func (r *Renamed) name(name string) (string, bool) {
	n := &r.rule
	if n.Select != "" {
		below, ok := strings.CutPrefix(name, n.Select+".")
		if !ok {
			return "", false
		}
		name = below
	}
	if n.Keep != nil && !n.Keep(name) {
		return "", false
	}
	if n.Drop != nil && n.Drop(name) {
		r.dropped = true
		return "", false
	}
	if n.Strip != "" {
		short, ok := strings.CutPrefix(name, n.Strip)
		r.stripped = r.stripped || ok
		name = short
	}
	for i := range n.Rename {
		if to, ok := n.Rename[i].apply(name); ok {
			r.used[i] = true
			return to, true
		}
	}
	return name, true
}

// Renames lists the old and new names of renamed tensors.
func (r *Renamed) Renames() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for i := range r.Tensors() {
			if was := r.Tensor(i.Name).Source.Info().Name; was != i.Name && !yield(was, i.Name) {
				return
			}
		}
	}
}

// tie renames the entries of metadata that name tied tensors.
func (r *Renamed) tie(b *limits.Budget, m tensor.Model) error {
	of, ok := m.(interface {
		Aliases() iter.Seq2[string, string]
	})
	if !ok {
		return nil
	}
	tied := map[string]Entry{}
	for name, kept := range of.Aliases() {
		var e Entry
		to, taken := r.name(kept)
		if also, its := r.name(name); taken && its {
			e = Entry{Key: also, Value: to}
		}
		if err := b.Hold(int64(len(name)+len(kept)) + 128); err != nil {
			return err
		}
		tied[name] = e
	}
	r.Entries = func(yield func(string, any) bool) {
		for k, v := range m.Meta() {
			if e, ok := tied[k]; ok {
				if k, v = e.Key, e.Value; k == "" {
					continue
				}
			}
			if !yield(k, v) {
				return
			}
		}
	}
	return nil
}

// Unwrap returns the source.
func (r *Renamed) Unwrap() tensor.Model { return r.Sources()[0] }
