package encode

import (
	"maps"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/loaders"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// others looks for tensors that are not among those expected. One with a number that was the same in
// all configurations that were examined says that this number follows from what is not known.
func (c *comparison) others() error {
	shapes := map[string][]string{} // by the name with # for each number
	for i := range c.of.Groups {
		g := &c.of.Groups[i]
		for _, end := range g.Ends {
			name := openNumbers(c.spelled(join(g.Beginning, end), g.Own))
			shapes[closed(name)] = append(shapes[closed(name)], name)
		}
	}
	for _, name := range c.named {
		if err := c.b.Step(1); err != nil {
			return err
		}
		names, known := shapes[closed(name)]
		switch {
		case !known && c.other == "":
			c.other = name
		case known && !slices.ContainsFunc(names, func(n string) bool { return fits(n, name) }):
			c.unclear("how many tensors like " + wire.Quote(name) + " there are does not follow from config.json")
		}
	}
	return nil
}

// openNumbers writes # for what says how many numbers there are.
func openNumbers(name string) string {
	for {
		before, rest, more := strings.Cut(name, "{")
		if !more {
			return name
		}
		_, after, _ := strings.Cut(rest, "}")
		name = before + "#" + after
	}
}

// closed writes # for each number.
func closed(name string) string {
	parts := strings.Split(name, ".")
	for i, part := range parts {
		if part != "" && strings.Trim(part, "0123456789") == "" {
			parts[i] = "#"
		}
	}
	return strings.Join(parts, ".")
}

// fits reports whether a name is one with a number for each #. Both have the same shape.
func fits(open, name string) bool {
	for part := range strings.SplitSeq(open, ".") {
		own, rest, _ := strings.Cut(name, ".")
		if part != "#" && part != own {
			return false
		}
		name = rest
	}
	return true
}

// inferLists finds the entry of each layer in a list that config.json does not have: the one with
// which its tensors are just those expected.
func (c *comparison) inferLists() error {
	of := map[string][]*loaders.NameGroup{}
	values := map[string]map[string]bool{}
	for i := range c.of.Groups {
		g := &c.of.Groups[i]
		for k := range g.When {
			l := &g.When[k]
			if !l.Each || l.Is != loaders.OneOf || c.known[l.Member].unclear == "" || g.Any || g.Vague != "" {
				continue
			}
			of[l.Member] = append(of[l.Member], g)
			if values[l.Member] == nil {
				values[l.Member] = map[string]bool{}
			}
			for _, v := range append(slices.Clone(l.Yes), l.No...) {
				values[l.Member][v] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if err := c.infer(name, of[name], slices.Sorted(maps.Keys(values[name]))); err != nil {
			return err
		}
	}
	return nil
}

// infer finds the entries of one list.
func (c *comparison) infer(name string, groups []*loaders.NameGroup, values []string) error {
	was := c.known[name]
	_, rest, _ := strings.Cut(groups[0].Beginning, "{")
	said, _, _ := strings.Cut(rest, "}")
	layers, why := c.count(said, -1)
	if why != "" || layers > len(c.named) {
		return nil
	}
	entries, err := limits.Make[string](c.b, layers)
	if err != nil {
		return err
	}
	c.known[name] = member{isList: true, list: entries}
	for l := range layers {
		most, one := 0, ""
		for _, entries[l] = range values {
			n, err := c.agrees(groups, l, layers)
			if err != nil {
				return err
			}
			if n > most {
				most, one = n, entries[l]
			}
		}
		if entries[l] = one; one == "" {
			c.known[name] = was
			return nil
		}
	}
	return nil
}

// agrees returns how many groups of a layer are there, -1 if not just those that should be.
func (c *comparison) agrees(groups []*loaders.NameGroup, l, layers int) (n int, err error) {
	for _, g := range groups {
		is, _ := c.holds(g, l, layers)
		at, _, err := c.presence(g, l)
		switch {
		case err != nil:
			return 0, err
		case is == unknown || is == yes && at != everything || is == no && at != nothing:
			return -1, nil
		case is == yes:
			n++
		}
	}
	return n, nil
}
