package scheme

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/config"
	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/limits"
)

// aims are the targets of the groups of compressed-tensors' configuration: each group
// lists names of modules, patterns, and classes of modules. They are read once, so that
// looking up a module costs only its own entries and the patterns.
type aims struct {
	groups   []jsontree.Value
	first    map[string]int32 // index in named of a module's first entry
	named    []target         // entries of one module are linked in the order of the groups
	patterns []target
	classes  []jsontree.Value // groups with a class among their targets
}

// aimsKey is the name under which a set keeps them.
const aimsKey = "config_groups"

// A target is an entry in the list of a group.
type target struct {
	group, at int32
	next      int32 // index of the entry with the same name in a later group, or -1
	pattern   string
}

// Groups returns the groups that a module may belong to: by its name, else by a pattern,
// else by the class of modules, which names do not tell. The caller must not change them.
func (s *Set) Groups(stem string) (found []jsontree.Value, err error) {
	if err := s.readTargets(); err != nil {
		return nil, err
	}
	t := s.Kept[aimsKey].(*aims)
	next, ok := t.first[stem]
	if !ok {
		next = -1
	}
	for i := next; i >= 0; i = t.named[i].next {
		if found, err = limits.Append(s.Budget, found, t.groups[t.named[i].group]); err != nil {
			return nil, err
		}
	}
	// If a group names the module, only patterns before that entry are tried.
	byName, matched := len(found) > 0, int32(-1)
	if err := s.Budget.Step(int64(len(t.patterns))); err != nil {
		return nil, err
	}
	for _, p := range t.patterns {
		for next >= 0 && t.named[next].group < p.group {
			next = t.named[next].next
		}
		if next >= 0 && t.named[next].group == p.group && t.named[next].at <= p.at {
			continue
		}
		at, err := s.Place("^(?:"+p.pattern+")", stem)
		if err != nil {
			return nil, err
		}
		if at != 0 || byName || matched == p.group {
			continue
		}
		matched = p.group
		if found, err = limits.Append(s.Budget, found, t.groups[p.group]); err != nil {
			return nil, err
		}
	}
	if len(found) == 0 {
		found = t.classes
	}
	return found, s.Budget.Step(int64(len(found) + 1))
}

// readTargets reads the targets of the groups.
func (s *Set) readTargets() error {
	if s.Kept[aimsKey] != nil {
		return nil
	}
	t, last := &aims{first: map[string]int32{}}, map[string]int32{}
	groups := s.Config.Quant.Within("config_groups")
	for _, name := range groups.Names() {
		var err error
		if t.groups, err = limits.Append(s.Budget, t.groups, groups.Within(name)); err != nil {
			return err
		}
		list := groups.Within(name).Get("targets").List()
		if err := s.Budget.Step(int64(len(list) + 1)); err != nil {
			return err
		}
		class := false
		for at, v := range list {
			text := v.String()
			if err := t.add(s.Budget, last, text, int32(at)); err != nil {
				return err
			}
			class = class || !strings.HasPrefix(text, "re:") && !strings.Contains(text, ".")
		}
		if class {
			if t.classes, err = limits.Append(s.Budget, t.classes, groups.Within(name)); err != nil {
				return err
			}
		}
	}
	s.Kept[aimsKey] = t
	return nil
}

// add adds entry at of the last group; last has the index of the last entry for each
// name.
func (t *aims) add(b *limits.Budget, last map[string]int32, text string, at int32) (err error) {
	e := target{group: int32(len(t.groups) - 1), at: at, next: -1}
	if pattern, ok := strings.CutPrefix(text, "re:"); ok {
		e.pattern = pattern
		if t.patterns, err = limits.Append(b, t.patterns, e); err != nil {
			return err
		}
	}
	before, known := last[text]
	if known && t.named[before].group == e.group {
		return nil // only the first of them counts
	}
	if err := b.Hold(2 * config.NodeCost); err != nil {
		return err
	}
	if t.named, err = limits.Append(b, t.named, e); err != nil {
		return err
	}
	i := int32(len(t.named) - 1)
	if known {
		t.named[before].next = i
	} else {
		t.first[text] = i
	}
	last[text] = i
	return nil
}
