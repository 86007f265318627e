package config

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A key is a pattern for the path of a key, and its allowed values: any, one of some
// texts, or none.
type key struct {
	path   []string
	values []string
	mute   bool
}

func newKey(text string) key {
	var k key
	text, k.mute = strings.CutSuffix(text, "?")
	text, values, valued := strings.Cut(text, "=")
	if valued {
		k.values = strings.Split(values, "|")
	}
	k.path = strings.Split(text, ".")
	return k
}

// matches reports whether the path matches the pattern.
func (k *key) matches(path []string) bool {
	for i, name := range k.path {
		switch {
		case name == "**":
			return true
		case i == len(path) || name != "*" && name != path[i]:
			return false
		}
	}
	return len(k.path) == len(path)
}

// allows reports whether the key may have the value.
func (k *key) allows(v jsontree.Value) bool {
	switch {
	case k.mute:
		return Says(v) == ""
	case k.values != nil:
		return slices.Contains(k.values, Says(v))
	}
	return true
}

// Known calls unknown for the keys of an object that are not known. A known key is a
// dotted path in which "*" is any one name and a final "**" everything below. "a=x|y" is
// known with these values only, "a?" if its value is empty.
func Known(b *limits.Budget, o jsontree.Value, known []string, unknown func(name string, v jsontree.Value) error) error {
	k := keys{b: b, unknown: unknown}
	for _, text := range known {
		k.patterns = append(k.patterns, newKey(text))
	}
	return k.object(nil, o)
}

// keys walks one configuration.
type keys struct {
	b        *limits.Budget
	unknown  func(name string, v jsontree.Value) error
	patterns []key
}

func (k *keys) object(path []string, o jsontree.Value) error {
	for _, name := range o.Names() {
		if err := k.value(append(path, name), o.Get(name)); err != nil {
			return err
		}
	}
	return nil
}

// value checks one key. An object is known if everything in it is; an object in a list is
// checked as a member without a name.
func (k *keys) value(path []string, v jsontree.Value) error {
	if err := k.b.Step(int64(len(k.patterns))); err != nil {
		return err
	}
	if v.Kind == strictjson.Object && len(v.Names()) > 0 && !k.whole(path) {
		return k.object(path, v)
	}
	if slices.ContainsFunc(v.List(), isObject) {
		for _, v := range v.List() {
			if err := k.value(append(path, "*"), v); err != nil {
				return err
			}
		}
		return nil
	}
	// If a pattern for this exact name restricts the values, wider patterns do not allow
	// others.
	known, understood, denied := Says(v) == "" && k.begins(path), false, false
	for _, p := range k.patterns {
		switch {
		case !p.matches(path):
		case !p.allows(v):
			denied = denied || p.path[len(p.path)-1] != "*"
		default:
			known, understood = true, understood || p.values != nil || p.mute
		}
	}
	if known && (understood || !denied) {
		return nil
	}
	return k.unknown(strings.Join(path, "."), v)
}

// whole reports whether an object is known or unknown as a whole, without looking inside.
func (k *keys) whole(path []string) bool {
	return slices.ContainsFunc(k.patterns, func(p key) bool { return p.mute && p.matches(path) }) && !k.begins(path)
}

// begins reports whether a known path begins with path.
func (k *keys) begins(path []string) bool {
	return slices.ContainsFunc(k.patterns, func(p key) bool {
		return len(p.path) > len(path) && (&key{path: p.path[:len(path)]}).matches(path)
	})
}

func isObject(v jsontree.Value) bool {
	return v.There && v.Kind == strictjson.Object
}
