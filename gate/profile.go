package gate

import "github.com/anamnesis-go/anamnesis/limits"

// New returns a gate with a policy, such as that of a profile:
//
//	p, _ := gate.Profile("upload")
//	g := gate.New(p)
func New(p Policy) *Gate { return &Gate{Policy: p} }

// profiles that ask for more than the limits of the same name.
var profiles = map[string]Policy{
	"strict": {FailOn: FailOnWarning, Pickle: PickleRefuse},
}

// Profiles lists the names of the profiles, the default first: server; strict, for a gate
// that protects others, which refuses pickles and findings of severity warning; edge, for a
// small machine; upload, for a host of many tenants.
func Profiles() []string { return limits.Profiles() }

// Profile returns a named policy. With strict, notes are only reported: a split file, for
// example, does not fail.
func Profile(name string) (Policy, bool) {
	l, ok := limits.Profile(name)
	if !ok {
		return Policy{}, false
	}
	p := profiles[name]
	if p.FailOn != FailOnDanger { // by severity, in place of all
		l.RefuseFindings = nil
	}
	if p.Pickle == PickleRefuse { // by its own rule
		l.RefuseFormats = nil
	}
	p.Limits = l
	return p, true
}
