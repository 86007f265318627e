package gate

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Policy says what is refused of what the formats' rules allow.
type Policy struct {
	Limits limits.Policy
	FailOn FailOn
	// ReportUnlooked accepts what could hold a model and was not looked at.
	ReportUnlooked bool
	// Ignore are exceptions, each with its reason.
	Ignore []Exception
}

// FailOn is the least severity of a finding that refuses a file.
type FailOn uint8

// The severities, and none.
const (
	FailOnDanger FailOn = iota
	FailOnWarning
	FailOnNote
	FailNever
)

var failOn = [...]string{"danger", "warning", "note", "never"}

func (f FailOn) String() string { return failOn[f] }

// ParseFailOn reads a severity's name, or "never".
func ParseFailOn(name string) (FailOn, bool) {
	for i, one := range failOn {
		if one == name {
			return FailOn(i), true
		}
	}
	return 0, false
}

// refuses reports a finding that is severe enough.
func (f FailOn) refuses(s tensor.Severity) bool {
	return f != FailNever && int(s) >= int(tensor.Danger)-int(f)
}

// An Exception sets refusals of a rule aside.
type Exception struct {
	Rule string // an identifier, or a pattern such as "gguf.*"
	// Path is a pattern of names, and SHA256 the digest of a file; at least one is
	// given. The digest asks for [Gate.Digest]. Without it only findings, and what was
	// not looked at, are set aside: any other refusal ends the judgement, so that
	// nothing is known of what the same name could hold tomorrow.
	Path, SHA256 string
	Reason       string
	// Expires is the last day on which it holds: "2026-12-31"; empty is no end.
	Expires string
}

// hold applies the policy to what was found.
func (v *Verdict) hold() {
	p := &v.gate.Policy
	if v.Err == nil {
		v.Err = v.severe(p)
	}
	if v.Err == nil && v.Unlooked != "" && !p.ReportUnlooked {
		v.Err = &unlooked{wire.At("scan", "", wire.NoOffset, wire.ErrUnsupported.With("not looked at, and it could hold a model: %s", v.Unlooked))}
	}
	list := v.Refusals()
	for i := range list {
		if !v.gate.excepts(v, &list[i]) {
			return
		}
	}
	if len(list) > 0 {
		v.Ignored, v.Err = append(v.Ignored, list...), nil
	}
}

// unlooked marks the refusal of what was not looked at.
type unlooked struct{ error }

func (u *unlooked) Unwrap() error { return u.error }

// A severe refusal is that of findings; the first one is its text.
type severe struct{ error }

func (s *severe) Unwrap() error { return s.error }

// severe is the refusal of the first finding that is severe enough.
func (v *Verdict) severe(p *Policy) error {
	for _, f := range v.own() {
		if p.FailOn.refuses(f.Severity) {
			return &severe{wire.At(v.place(), f.Where, f.Off, wire.ErrForbidden.With("finding %s is of severity %v: %s", f.Code, f.Severity, f.Text))}
		}
	}
	return nil
}

// place is what an error about a finding carries as its format.
func (v *Verdict) place() string {
	if v.Format == "" {
		return "sidecar"
	}
	return v.Format
}

// own are the findings that are not those of contents, each of which was held to the
// policy by itself.
func (v *Verdict) own() []tensor.Finding {
	if v.Contents == nil {
		return v.Findings
	}
	return v.Findings[:v.mine]
}

// excepts reports an exception that holds today.
func (g *Gate) excepts(v *Verdict, r *Refusal) bool {
	if r.Class == wire.Internal || r.Class == wire.Limit {
		return false // nothing is known of the rest
	}
	for _, e := range g.Policy.Ignore {
		switch {
		case !match(e.Rule, r.Rule), e.Path == "" && e.SHA256 == "":
		case e.SHA256 == "" && !byName(r.Rule):
		case e.Path != "" && !matchPath(e.Path, v.Name), e.SHA256 != "" && e.SHA256 != v.SHA256:
		case e.Expires != "" && (g.Today == "" || g.Today > e.Expires):
		default:
			return true
		}
	}
	return false
}

// knownByDigest reports that an exception for one content may set aside what a file
// of this name is refused for, so that nothing is known before all of it is there.
func (g *Gate) knownByDigest(name string) bool {
	return slices.ContainsFunc(g.Policy.Ignore, func(e Exception) bool {
		return e.SHA256 != "" && (e.Path == "" || matchPath(e.Path, name))
	})
}

// byName reports a rule that an exception may set aside by the name of a file.
func byName(rule string) bool { return rule == unlookedRule || limits.IsFinding(rule) }
