package gate

import (
	"fmt"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/sidecar"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// since are the rules of findings that came after the first version of a policy, and the
// version in which they did. A policy that was stored before only reports them, so that what
// it accepts does not change by itself, unless it names the rule.
var since = map[string]int{
	sidecar.CodeUnexplained: 3,
	sidecar.CodeCode:        3,
	sidecar.CodeNoKind:      3,
	gguf.CodeNegative:       3,
	gguf.CodeWide:           3,
}

// newerRules are the rules of since, in order.
func newerRules() (list []string) {
	for rule := range since {
		list = append(list, rule)
	}
	slices.Sort(list)
	return list
}

// isNewer reports whether a rule came after the policy, which does not name it.
func (p *Policy) isNewer(rule string) bool {
	return p.Version > 0 && p.Version < since[rule] && !(rule == sidecar.CodeCode && p.Code == CodeRefuse) &&
		!slices.ContainsFunc(p.Rules, func(c Change) bool { return match(c.Rule, rule) }) && !slices.Contains(p.Limits.RefuseFindings, rule)
}

// reportNewer makes notes of the findings by newer rules that would refuse the file, and says
// so. None refuses, whatever the policy fails on.
func (v *draft) reportNewer() {
	mine := v.ownFindings()
	for i := range mine {
		f := &mine[i]
		if !v.policy.isNewer(f.Code) || f.Severity == tensor.Note {
			continue
		}
		f.Text += fmt.Sprintf(" (a policy of version %d has the severity %v for this)", since[f.Code], f.Severity)
		f.Severity = tensor.Note
	}
}

// refuses reports whether the policy refuses the file for a finding.
func (v *draft) refuses(f *tensor.Finding) bool {
	return v.policy.FailOn.refuses(f.Severity) && !v.policy.isNewer(f.Code)
}
