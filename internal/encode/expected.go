package encode

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/loaders"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A Lack says whether a model has every tensor that transformers expects of its class. Its zero
// value is that this was not examined.
type Lack struct {
	Whole   bool   // it has
	Missing string // a tensor that config.json asks for, and that is not there
	Unclear string // why it does not follow from config.json which there are
}

// Compare holds the names of the model's tensors against what transformers expects of the class
// that config.json names. changed is why they are not those that config.json speaks of; "" if they
// are.
func (e *Linear) Compare(named []string, changed string) error {
	if changed != "" {
		e.Lack.Unclear = changed
		return nil
	}
	if e.Type == "" || len(e.classes) == 0 {
		e.Lack.Unclear = "config.json names no class"
		return nil
	}
	of, known := loaders.Expects(e.Type, e.classes[0])
	if !known {
		e.Lack.Unclear = "which tensors a class " + wire.Quote(e.classes[0]) + " of this model_type has was not examined"
		return nil
	}
	config, err := jsontree.Read(e.Budget, e.Model.Configs(), ConfigName, MaxConfig)
	if err != nil {
		return err
	}
	set, err := wire.NewNameSet(e.Budget, len(named), func(i int) string { return named[i] })
	if err != nil {
		return err
	}
	for i := range named {
		if _, _, err := set.Add(i); err != nil {
			return err
		}
	}
	c := &comparison{b: e.Budget, of: &of, named: named, set: set, known: map[string]member{}}
	if err := c.findPrefix(); err != nil {
		return err
	}
	c.inside = c.ofHead()
	if err := c.read(config); err != nil {
		return err
	}
	if err := c.all(); err != nil {
		return err
	}
	e.Lack = c.verdict()
	return nil
}

// A comparison is one model beside what is expected of its class.
type comparison struct {
	b      *limits.Budget
	of     *loaders.Expected
	named  []string
	set    *wire.NameSet
	begins bool // names have the beginning that those of the bare class do not have
	inside bool // names of the examined class have it: those without it are not of the bare model
	known  map[string]member
	lack   Lack
	other  string // the first tensor that has none of the names
	more   string // what says that there are more layers than tensors
}

// A member is what config.json says, as text.
type member struct {
	text    string // of a scalar
	list    []string
	isList  bool
	unclear string // why it is not known
}

// read looks up each member that decides.
func (c *comparison) read(config jsontree.Value) (err error) {
	for _, path := range slices.Sorted(maps.Keys(c.of.Inside)) {
		want := c.of.Inside[path]
		if at := config.At(path); at.There && at.String() != want {
			c.unclear("the model inside is of the type " + wire.Quote(at.String()) + ", not " + wire.Quote(want))
		}
	}
	for path, d := range c.of.Members {
		if c.known[path], err = c.lookUp(config, path, d); err != nil {
			return err
		}
	}
	return nil
}

// lookUp follows a path into the configuration. Where a part of it does not exist, a class that
// reads older forms of it may have another default than that of the part.
func (c *comparison) lookUp(config jsontree.Value, path string, d loaders.Deciding) (member, error) {
	parts := strings.Split(path, ".")
	at := config
	for _, part := range parts[:len(parts)-1] {
		if at = element(at, part); !at.There {
			return member{unclear: "config.json has no " + wire.Quote(part)}, nil
		}
	}
	for m := range at.Members() {
		if err := c.b.Step(1); err != nil {
			return member{}, err
		}
		if slices.Contains(d.Names, m.Name) {
			return c.textOf(m.Value, path)
		}
	}
	if one := element(at, parts[len(parts)-1]); one.There {
		return c.textOf(one, path)
	}
	if d.Default == "*" {
		return member{unclear: "config.json has no " + wire.Quote(path)}, nil
	}
	return member{text: d.Default}, nil
}

// element returns a member of an object, or an entry of a list by its number.
func element(v jsontree.Value, name string) jsontree.Value {
	if v.Kind != strictjson.Array {
		return v.Get(name)
	}
	if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(v.List()) {
		return v.List()[i]
	}
	return jsontree.Value{}
}

// textOf returns a scalar as text, and the scalars of a list.
func (c *comparison) textOf(v jsontree.Value, path string) (m member, err error) {
	if v.Kind != strictjson.Array {
		text, ok := scalar(v)
		if !ok {
			m.unclear = wire.Quote(path) + " of config.json is an object"
		}
		m.text = text
		return m, nil
	}
	m.isList = true
	if m.list, err = limits.Make[string](c.b, len(v.List())); err != nil {
		return m, err
	}
	for i, one := range v.List() {
		if err := c.b.Step(1); err != nil {
			return m, err
		}
		m.list[i], _ = scalar(one)
	}
	return m, nil
}

func scalar(v jsontree.Value) (text string, ok bool) {
	switch v.Kind {
	case strictjson.String:
		return v.String(), true
	case strictjson.Number:
		return v.Number(), true
	case strictjson.Bool:
		return strconv.FormatBool(v.True()), true
	case strictjson.Null:
		return "null", true
	}
	return "", false
}

// findPrefix notes whether names have the beginning that those of the bare class do not have.
func (c *comparison) findPrefix() error {
	if c.of.Prefix == "" {
		return nil
	}
	for _, name := range c.named {
		if err := c.b.Step(1); err != nil {
			return err
		}
		if strings.HasPrefix(name, c.of.Prefix+".") {
			c.begins = true
			return nil
		}
	}
	return nil
}

// unclear notes the first reason.
func (c *comparison) unclear(why string) {
	if c.lack.Unclear == "" {
		c.lack.Unclear = why
	}
}

// missing notes the first tensor that is not there.
func (c *comparison) missing(name string) {
	if c.lack.Missing == "" {
		c.lack.Missing = name
	}
}

// verdict says of a model with a tensor of a name that the table does not have that the one
// that is missing may be that one.
func (c *comparison) verdict() Lack {
	l := c.lack
	if l.Missing == "" && c.more != "" {
		l.Unclear = c.more
	}
	switch {
	case l.Missing == "" && l.Unclear == "":
		return Lack{Whole: true}
	case l.Missing != "" && l.Unclear == "":
		if c.other != "" {
			return Lack{Unclear: "there is no " + wire.Quote(l.Missing) + ", and " + wire.Quote(c.other) + " is not one of its names"}
		}
		return Lack{Missing: l.Missing}
	case l.Missing != "":
		return Lack{Unclear: "there is no " + wire.Quote(l.Missing) + ", and " + l.Unclear}
	}
	return l
}

// has reports whether a tensor is there, under the name that it has with or without the
// beginning.
func (c *comparison) has(name string, own bool) (bool, error) {
	if err := c.b.Step(1); err != nil {
		return false, err
	}
	_, ok := c.set.Find(c.spelled(name, own))
	return ok, nil
}

func (c *comparison) spelled(name string, own bool) string {
	if c.of.Prefix == "" || own {
		return name
	}
	rest, has := strings.CutPrefix(name, c.of.Prefix+".")
	switch {
	case has && !c.begins:
		return rest
	case !has && c.begins && !c.inside:
		return c.of.Prefix + "." + name
	}
	return name
}

// ofHead reports whether names of the examined class have the beginning.
func (c *comparison) ofHead() bool {
	for i := range c.of.Groups {
		g := &c.of.Groups[i]
		for _, end := range g.Ends {
			if !g.Own && strings.HasPrefix(join(g.Beginning, end), c.of.Prefix+".") {
				return true
			}
		}
	}
	return false
}

func join(beginning, end string) string {
	switch {
	case beginning == "":
		return end
	case end == "":
		return beginning
	}
	return beginning + "." + end
}
