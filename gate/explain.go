package gate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Explain says in sentences what a policy accepts and refuses. today is the date for the
// expiry of exceptions.
func (p *Policy) Explain(today string) []string {
	if p == nil {
		p = refusesAll()
	}
	list := p.sentences()
	for i := range p.Paths {
		b := &p.Paths[i]
		about := b.Policy.sentencesOf(b.Set)
		list = append(list, fmt.Sprintf("For files whose names match %s, in place of that: %s", wire.Quote(b.Path), strings.Join(about, " ")))
	}
	for i := range p.Ignore {
		list = append(list, p.Ignore[i].sentence(today))
	}
	return append(list, p.ceilings()...)
}

// ExplainFor is Explain for one file name: blocks of paths are applied, and exceptions for
// other names are left out.
func (p *Policy) ExplainFor(name, today string) []string {
	if p == nil {
		p = refusesAll()
	}
	one := p.For(name)
	list := one.sentences()
	for i := range p.Ignore {
		if e := &p.Ignore[i]; e.Path == "" || matchPath(e.Path, name) {
			list = append(list, e.sentence(today))
		}
	}
	return append(list, one.ceilings()...)
}

// sentences describes each member of the policy.
func (p *Policy) sentences() []string {
	var all []string
	for i := range members {
		all = append(all, members[i].name)
	}
	return p.sentencesOf(all)
}

func (p *Policy) sentencesOf(members []string) (list []string) {
	for _, name := range members {
		if text := p.sentence(name); text != "" {
			list = append(list, text)
		}
	}
	return list
}

func (p *Policy) sentence(member string) string {
	switch member {
	case "formats":
		return oneOfSentence("Formats", p.Formats)
	case "dtypes":
		return oneOfSentence("Types of tensors", p.DTypes)
	case "schemes":
		return oneOfSentence("Schemes of quantization", p.Schemes)
	case "pickle":
		return map[Pickle]string{
			PickleSafe:        "Pickles and checkpoints are accepted that ask for data alone.",
			PickleWeightsOnly: "Pickles and checkpoints are accepted that ask for data alone, and that PyTorch's restricted loader would take.",
			PickleRefuse:      "Pickles are refused, and checkpoints of PyTorch with them.",
		}[p.Pickle]
	case "allow_globals":
		return p.globalsSentence()
	case "classes":
		return p.classesSentence()
	case "fail_on":
		if p.FailOn == FailNever {
			return "No finding refuses a file."
		}
		return fmt.Sprintf("A finding of severity %v, or a worse one, refuses a file.", p.FailOn)
	case "unlooked":
		if p.ReportUnlooked {
			return "What could hold a model and was not looked at is accepted, and listed."
		}
		return "What could hold a model and was not looked at is refused."
	case "sidecars":
		if p.Sidecars == SidecarsSkip {
			return "Texts beside models are not looked through."
		}
		return "Texts beside models (configurations, chat templates) are looked through for what they ask of who loads the model."
	case "code":
		if p.Code == CodeRefuse {
			return "Code beside a model is refused, and files by which tools install or build something."
		}
		return "Code beside a model is a finding; where a loader runs it by itself, it is refused."
	case "rules":
		var parts []string
		for _, c := range p.Rules {
			if c.Severity == "off" {
				parts = append(parts, c.Rule+" are turned off")
			} else {
				parts = append(parts, c.Rule+" have severity "+c.Severity)
			}
		}
		if len(parts) > 0 {
			return "Findings of " + strings.Join(parts, "; of ") + "."
		}
	}
	return ""
}

func oneOfSentence(what string, list []string) string {
	switch {
	case list == nil:
		return what + ": all that are read."
	case len(list) == 0:
		return what + ": none is accepted."
	}
	return what + ": " + strings.Join(list, ", ") + "; no other is accepted."
}

func (p *Policy) globalsSentence() string {
	if len(p.AllowGlobals) == 0 {
		return ""
	}
	var parts []string
	for _, name := range p.AllowGlobals {
		if s := globalSetByName(name); s != nil {
			name += " (" + s.title + ": " + strings.Join(GlobalSets()[s.name], ", ") + ")"
		}
		parts = append(parts, name)
	}
	return "Pickles may name, beyond the list of data: " + strings.Join(parts, ", ") + "."
}

func (e *Exception) sentence(today string) string {
	of := []string{}
	if e.Path != "" {
		of = append(of, "names like "+wire.Quote(e.Path))
	}
	if e.SHA256 != "" {
		of = append(of, "SHA-256 "+e.SHA256)
	}
	text := fmt.Sprintf("Exception: %s for files of %s, because %s", e.Rule, strings.Join(of, " and "), wire.Text(e.Reason, 256))
	switch {
	case e.Expires == "":
		return text + " (no end)."
	case e.Expires < today:
		return text + " (it ran out on " + e.Expires + ")."
	}
	return text + " (until " + e.Expires + ")."
}

// ceilings describes the limits that differ from the default and what they refuse.
func (p *Policy) ceilings() (list []string) {
	var other []string
	var def limits.Policy
	for _, a := range limits.Axes() {
		if p.Limits.Limit(a) != def.Limit(a) {
			other = append(other, strings.ReplaceAll(a.String(), "_", " "))
		}
	}
	text := "Limits are those of the profile server"
	if len(other) > 0 {
		text += ", but for " + strings.Join(other, ", ")
	}
	list = append(list, text+".")
	for what, names := range map[string][]string{
		"Formats that are refused by the limits": p.Limits.RefuseFormats, "Findings that are refused whatever their severity": p.Limits.RefuseFindings,
		"Leniencies that are granted": p.Limits.Quirks,
	} {
		if len(names) > 0 {
			list = append(list, what+": "+strings.Join(names, ", ")+".")
		}
	}
	if p.Limits.RefuseUnknownMembers {
		list = append(list, "Members of archives that the format does not know are refused.")
	}
	slices.Sort(list[1:])
	return list
}
