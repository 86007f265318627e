package gate

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/vm"
)

// checkClasses rejects names that no class set has, and versions that it was not made from.
func checkClasses(list []string) error {
	for _, text := range list {
		if _, err := classSet(text); err != nil {
			return err
		}
	}
	return nil
}

// classSet returns the set that a policy names: "sklearn", or "lightgbm>=4" for one whose
// library has such a version.
func classSet(text string) (*vm.ClassSet, error) {
	name, rest := text, ""
	if at := strings.IndexAny(text, "<>=!"); at >= 0 {
		name, rest = text[:at], text[at:]
	}
	for _, s := range vm.ClassSets() {
		if s.Name != name {
			continue
		}
		if err := fitsVersion(s, rest); err != nil {
			return nil, err
		}
		return s, nil
	}
	return nil, fmt.Errorf("no class set has the name %q (%s)", name, strings.Join(classNames(), ", "))
}

// fitsVersion checks a demand on the versions of a set, such as ">=4": the set is made from one that
// meets it.
func fitsVersion(s *vm.ClassSet, demand string) error {
	if demand == "" {
		return nil
	}
	for _, have := range s.Versions() {
		if fits, err := meets(have, demand); err != nil || fits {
			return err
		}
	}
	l := s.Libraries[0]
	return fmt.Errorf("the class set %q is made from %s %s to %s, not %s", s.Name, l.Name, l.Oldest, l.Newest, demand)
}

// meets reports whether a version meets a demand: ">=4".
func meets(have, demand string) (bool, error) {
	for _, sign := range [...]string{">=", "<=", "==", ">", "<"} {
		version, ok := strings.CutPrefix(demand, sign)
		if !ok {
			continue
		}
		order, known := compareVersions(have, version)
		if !known {
			return false, fmt.Errorf("%q is not a version: digits and dots", version)
		}
		return map[string]bool{">=": order >= 0, "<=": order <= 0, "==": order == 0, ">": order > 0, "<": order < 0}[sign], nil
	}
	return false, fmt.Errorf("%q says nothing about a version (>=, <=, ==, >, <)", demand)
}

// allowsVersions reports whether a policy allows a set in one of the versions that could have written
// a file.
func (p *Policy) allowsVersions(name string, versions []string) bool {
	return slices.ContainsFunc(p.Classes, func(text string) bool {
		demand := strings.TrimPrefix(text, name)
		if demand == "" {
			return true
		}
		return len(demand) < len(text) && slices.ContainsFunc(versions, func(have string) bool {
			fits, err := meets(have, demand)
			return err == nil && fits
		})
	})
}

// SetUses yields the class sets that a pickle uses and the policy allows, each with the versions that
// could have written the pickle and that the policy allows. It is safe to load with one of these alone.
func (p *Policy) SetUses(r *vm.Report) iter.Seq2[*vm.ClassSet, []string] {
	return func(yield func(*vm.ClassSet, []string) bool) {
		for s, versions := range r.Graph.SetUses() {
			versions = slices.DeleteFunc(versions, func(version string) bool { return !p.allowsVersions(s.Name, []string{version}) })
			if p.allowsSet(s.Name) && !yield(s, versions) {
				return
			}
		}
	}
}

// compareVersions compares only the digits of the parts of a version that the other version states.
func compareVersions(have, want string) (sign int, ok bool) {
	a, b := strings.Split(have, "."), strings.Split(want, ".")
	for i, part := range b {
		n, err := strconv.ParseUint(part, 10, 32)
		if err != nil {
			return 0, false
		}
		own := uint64(0)
		if i < len(a) {
			if own, err = strconv.ParseUint(a[i], 10, 32); err != nil { // post1, of a version that the set has
				own = 0
			}
		}
		if sign == 0 {
			sign = cmp.Compare(own, n)
		}
	}
	return sign, true
}

// allowsSet reports whether a policy names a set, which has no name for what is in none.
func (p *Policy) allowsSet(name string) bool {
	return name != "" && slices.ContainsFunc(p.Classes, func(text string) bool {
		s, err := classSet(text)
		return err == nil && s.Name == name
	})
}

func classNames() (names []string) {
	for _, s := range vm.ClassSets() {
		names = append(names, s.Name)
	}
	return names
}

// classesSentence says which class sets a policy allows.
func (p *Policy) classesSentence() string {
	var parts []string
	for _, s := range vm.ClassSets() {
		if !p.allowsSet(s.Name) {
			continue
		}
		var of []string
		for _, l := range s.Libraries {
			versions := l.Oldest
			if l.Newest != l.Oldest {
				versions += " to " + l.Newest
			}
			of = append(of, l.Name+" "+versions)
		}
		parts = append(parts, fmt.Sprintf("%s (%s: %d classes)", s.Name, strings.Join(of, ", "), len(s.Names())))
	}
	if len(parts) == 0 {
		return ""
	}
	return "Pickles may use the classes of " + strings.Join(parts, ", ") + "."
}

// wouldFit returns the names of the class sets with which a policy would accept a pickle that
// it refuses, in the form of the member of a policy, or "".
func (p *Policy) wouldFit(r *vm.Report) string {
	var sets []string
	for _, g := range r.Graph.Globals() {
		if s := g.Set(); s != "" && !slices.Contains(sets, s) {
			sets = append(sets, s)
		}
	}
	if len(sets) == 0 || r.RefusalBut(func(e *vm.Event) bool { return e.Fits || p.excusesEvent(e) }) != nil {
		return ""
	}
	slices.Sort(sets)
	return fmt.Sprintf("a policy with \"classes\": [\"%s\"] accepts it", strings.Join(sets, "\", \""))
}
