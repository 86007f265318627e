package gate

import "github.com/anamnesis-go/anamnesis/limits"

// New is a gate of a policy, or of a profile:
//
//	p, _ := gate.Profile("upload")
//	g := gate.New(p)
func New(p Policy) *Gate { return &Gate{Policy: p} }

// profiles that ask for more than the limits of the same name.
var profiles = map[string]Policy{
	"strict": {FailOn: FailOnWarning, Pickle: PickleRefuse},
}

// Profiles lists the names of the profiles, the default first: server; strict, for a
// gate in front of others, which refuses pickles and findings of severity warning;
// edge, for a small machine; upload, for a host of many tenants.
func Profiles() []string { return limits.Profiles() }

// Profile returns a named policy. That of strict leaves notes to be reported: a
// split file and other honest things never fail.
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
