package gate

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/vm"
)

// A Need is a name that pickles ask for beyond the list of data.
type Need struct {
	Name   string   // "module.name"
	Uses   []string // "global", "call", "build" or "change"
	Off    int64    // of the first use
	Reason string   // why the policy may not allow it, or ""
}

// Needs lists what the pickles of a file ask for that its policy does not allow, by name,
// in the order of the file. Members of an archive are not included.
func (v *Verdict) Needs() (list []Need) {
	if v == nil {
		return nil
	}
	at := map[string]int{}
	for _, p := range v.Pickles {
		for e := range p.Report.Events() {
			if e.OK || v.policy.excusesEvent(&e) {
				continue
			}
			name, reason := needOf(&e)
			i, seen := at[name]
			if !seen {
				i = len(list)
				at[name] = i
				list = append(list, Need{Name: name, Off: e.Off, Reason: reason})
			}
			if use := e.Use.String(); !slices.Contains(list[i].Uses, use) {
				list[i].Uses = append(list[i].Uses, use)
			}
		}
	}
	return list
}

// needOf returns the name that an event asks for, and why no policy allows it.
func needOf(e *vm.Event) (name, reason string) {
	g := e.On.Global()
	switch {
	case g == nil && e.Use == vm.UsePersistent:
		return "persistent id", "what an id stands for is not known"
	case g == nil:
		return e.On.String(), "the result of a call is called"
	case g.Status == vm.Dangerous:
		return g.String(), g.Reason
	case g.Status == vm.Allowed:
		return g.String(), "data that is not as its library writes it"
	case e.Use == vm.UseCall && e.On.Kind() == vm.KindObject:
		return g.String(), "the result of its call is called"
	case e.Use == vm.UseBuild && e.On.Kind() == vm.KindObject && !isOpaqueState(e.With):
		return g.String(), "its state sets a name that Python itself looks up"
	}
	return g.String(), ""
}
