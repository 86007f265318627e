package encode

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/loaders"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A truth is whether a condition holds; the zero value is that this does not follow.
type truth uint8

const (
	unknown truth = iota
	no
	yes
)

func truthOf(is bool) truth {
	if is {
		return yes
	}
	return no
}

// A presence is how much of a group is there.
type presence uint8

const (
	nothing presence = iota
	some
	everything
)

// all compares each group.
func (c *comparison) all() error {
	if err := c.inferLists(); err != nil {
		return err
	}
	for i := range c.of.Groups {
		if g := &c.of.Groups[i]; g.Vague == "" || g.Loose {
			if err := c.group(g); err != nil {
				return err
			}
		}
	}
	for _, beginning := range slices.Sorted(maps.Keys(c.of.Together)) { // in an order, for the answer to be the same each time
		if err := c.together(beginning, c.of.Together[beginning]); err != nil {
			return err
		}
	}
	return c.others()
}

// group compares the names that are there under one condition.
func (c *comparison) group(g *loaders.NameGroup) error {
	layers, layered := c.layers(g.Beginning)
	for l := range layers {
		is, why := c.holds(g, l, layers)
		if g.Loose {
			is, why = unknown, "whether "+wire.Quote(g.Ends[0])+" is there does not follow from config.json"
		}
		if is == no {
			continue
		}
		if !layered {
			l = -1
		}
		at, first, err := c.presence(g, l)
		switch {
		case err != nil:
			return err
		case at == some || at == nothing && is == yes:
			c.missing(first)
			return nil
		case at == nothing && len(g.Ends) > 0:
			c.unclear(why)
		}
	}
	return nil
}

// layers returns how many layers a beginning has; layered is false for a name outside of them.
// A number that is not known is taken for none, and noted. Of layers that are more than all
// tensors, one more than these is enough to find one that is not there.
func (c *comparison) layers(beginning string) (n int, layered bool) {
	_, rest, layered := strings.Cut(beginning, "{")
	if !layered {
		return 1, false
	}
	said, _, _ := strings.Cut(rest, "}")
	n, why := c.count(said, -1)
	switch {
	case why != "":
		c.unclear(why)
		return 0, true
	case n > len(c.named):
		c.more = "config.json says that " + said + " is more than there are tensors"
		return len(c.named) + 1, true
	}
	return n, true
}

// count returns the number that a part of a name is below, in a layer.
func (c *comparison) count(said string, layer int) (n int, why string) {
	name, each := strings.CutSuffix(said, "[]")
	name, length := strings.CutPrefix(name, "#")
	add := 0
	if cut, ok := strings.CutSuffix(name, "+1"); ok {
		name, add = cut, 1
	} else if cut, ok := strings.CutSuffix(name, "-1"); ok {
		name, add = cut, -1
	}
	m := c.known[name]
	switch {
	case said == "*":
		return 0, "how many there are does not follow from config.json"
	case m.unclear != "":
		return 0, m.unclear
	case length && m.isList:
		return len(m.list), ""
	case length || each != m.isList:
		return 0, wire.Quote(name) + " of config.json is of another kind than was examined"
	case each && (layer < 0 || layer >= len(m.list)):
		return 0, wire.Quote(name) + " of config.json has no entry for a layer"
	case each:
		m.text = m.list[layer]
	}
	n, err := strconv.Atoi(m.text)
	if n += add; err != nil || n < 0 || n > 1<<24 {
		return 0, wire.Quote(name) + " of config.json is not a number of layers"
	}
	return n, ""
}

// holds reports whether names are there in a layer.
func (c *comparison) holds(g *loaders.NameGroup, layer, layers int) (is truth, why string) {
	is = truthOf(!g.Any)
	for i := range g.When {
		one, because := c.literal(&g.When[i], layer, layers)
		switch {
		case one == unknown && is == truthOf(!g.Any):
			is, why = unknown, because
		case one == truthOf(g.Any):
			return one, ""
		}
	}
	return is, why
}

// empty are the texts of members that are not true.
var empty = []string{"0", "null", "false", ""}

func (c *comparison) literal(l *loaders.Literal, layer, layers int) (truth, string) {
	switch l.Is {
	case loaders.First, loaders.Later:
		return truthOf((layer == 0) == (l.Is == loaders.First)), ""
	case loaders.Last, loaders.Earlier:
		return truthOf((layer == layers-1) == (l.Is == loaders.Last)), ""
	}
	m := c.known[l.Member]
	if m.unclear != "" {
		return unknown, m.unclear
	}
	if l.Is == loaders.Listed || l.Is == loaders.Unlisted {
		if !m.isList {
			return unknown, wire.Quote(l.Member) + " of config.json is not a list"
		}
		return truthOf(slices.Contains(m.list, strconv.Itoa(layer)) == (l.Is == loaders.Listed)), ""
	}
	if l.Each != m.isList || l.Each && layer >= len(m.list) {
		return unknown, wire.Quote(l.Member) + " of config.json is of another kind than was examined"
	}
	text := m.text
	if l.Each {
		text = m.list[layer]
	}
	if l.Is == loaders.Tail || l.Is == loaders.Body {
		return lastLayers(l, text, layers-layer)
	}
	return ofText(l, text, layer)
}

// lastLayers decides whether a layer, counted from the end, is one of the last.
func lastLayers(l *loaders.Literal, text string, left int) (truth, string) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return unknown, wire.Quote(l.Member) + " of config.json is not a number of layers"
	}
	return truthOf((left <= n) == (l.Is == loaders.Tail)), ""
}

// ofText decides a literal by the text of its member.
func ofText(l *loaders.Literal, text string, layer int) (truth, string) {
	switch l.Is {
	case loaders.IsTrue, loaders.IsFalse:
		return truthOf(slices.Contains(empty, text) == (l.Is == loaders.IsFalse)), ""
	case loaders.From, loaders.Before:
		n, err := strconv.Atoi(text)
		if err != nil {
			return unknown, wire.Quote(l.Member) + " of config.json is not the number of a layer"
		}
		return truthOf((layer >= n) == (l.Is == loaders.From)), ""
	}
	switch {
	case slices.Contains(l.Yes, text):
		return yes, ""
	case slices.Contains(l.No, text):
		return no, ""
	}
	return unknown, "a model whose " + l.Member + " is " + wire.Quote(text) + " was not examined"
}

// presence returns how much of a group is in a layer, and the first name that is not.
func (c *comparison) presence(g *loaders.NameGroup, layer int) (at presence, first string, err error) {
	found, lost := false, ""
	err = c.expand(g.Beginning, layer, layer, func(beginning string) error {
		for _, end := range g.Ends {
			name := join(beginning, end)
			ok, err := c.has(name, g.Own)
			if err != nil {
				return err
			}
			if found = found || ok; !ok && lost == "" {
				lost = name
			}
			if found && lost != "" {
				return nil
			}
		}
		return nil
	})
	switch {
	case lost == "":
		return everything, "", err
	case found:
		return some, lost, err
	}
	return nothing, lost, err
}

// expand calls each for the beginning with every number that it may have in a layer.
func (c *comparison) expand(beginning string, layer, next int, each func(string) error) error {
	before, rest, more := strings.Cut(beginning, "{")
	if !more {
		return each(beginning)
	}
	said, after, _ := strings.Cut(rest, "}")
	if next >= 0 {
		return c.expand(before+strconv.Itoa(next)+after, layer, -1, each)
	}
	n, why := c.count(said, layer)
	if why != "" {
		c.unclear(why)
		return nil
	}
	for i := range min(n, len(c.named)+1) {
		if err := c.b.Step(1); err != nil {
			return err
		}
		if err := c.expand(before+strconv.Itoa(i)+after, layer, -1, each); err != nil {
			return err
		}
	}
	return nil
}

// together compares the vague groups of each layer with those that were seen in one.
func (c *comparison) together(beginning string, sets [][]string) error {
	layers, _ := c.layers(beginning)
	for l := range layers {
		have, lost := map[string]bool{}, map[string]string{}
		for i := range c.of.Groups {
			g := &c.of.Groups[i]
			if g.Vague == "" || g.Loose || len(g.When) > 0 || !strings.HasPrefix(g.Beginning, beginning) {
				continue
			}
			at, first, err := c.presence(g, l)
			if err != nil {
				return err
			}
			if have[g.Vague] = have[g.Vague] || at != nothing; at != everything {
				lost[g.Vague] = first
			}
		}
		maps.DeleteFunc(have, func(_ string, is bool) bool { return !is })
		for _, group := range slices.Sorted(maps.Keys(have)) {
			if lost[group] != "" {
				c.missing(lost[group])
				return nil
			}
		}
		if err := c.seen(beginning, sets, slices.Sorted(maps.Keys(have)), l, layers); err != nil {
			return err
		}
	}
	return nil
}

// seen compares the vague groups of one layer, and what is there with them.
func (c *comparison) seen(beginning string, sets [][]string, have []string, l, layers int) error {
	same := func(set []string) bool { return slices.Equal(slices.Sorted(slices.Values(set)), have) }
	more := func(set []string) bool {
		return len(set) > len(have) && !slices.ContainsFunc(have, func(g string) bool { return !slices.Contains(set, g) })
	}
	if !slices.ContainsFunc(sets, same) || slices.ContainsFunc(sets, more) {
		c.unclear("whether layer " + strconv.Itoa(l) + " of " + wire.Quote(beginning[:strings.IndexByte(beginning, '{')]) + " has all its tensors does not follow from config.json")
	}
	for i := range c.of.Groups {
		g := &c.of.Groups[i]
		if g.Vague == "" || len(g.When) == 0 || !strings.HasPrefix(g.Beginning, beginning) || !slices.Contains(have, g.Vague) {
			continue
		}
		is, why := c.holds(g, l, layers)
		at, first, err := c.presence(g, l)
		switch {
		case err != nil:
			return err
		case is == no:
		case at == some || at == nothing && is == yes:
			c.missing(first)
		case at == nothing:
			c.unclear(why)
		}
	}
	return nil
}
