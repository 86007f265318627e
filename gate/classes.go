package gate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/vm"
)

// checkClasses rejects names that no class set has.
func checkClasses(list []string) error {
	for _, name := range list {
		if !slices.Contains(classNames(), name) {
			return fmt.Errorf("no class set has the name %q (%s)", name, strings.Join(classNames(), ", "))
		}
	}
	return nil
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
		if !slices.Contains(p.Classes, s.Name) {
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
