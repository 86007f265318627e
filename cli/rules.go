package cli

import (
	"context"

	"github.com/anamnesis-go/anamnesis/gate"
)

// rulesCmd lists the rules of refusals and findings.
type rulesCmd struct{}

func (rulesCmd) Help() string {
	return `Lists the rules by which a scan refuses files and reports findings, with the identifiers that
reports carry and that "ignore" and "rules" of a policy name. A group such as zip.duplicate
covers all refusals of a format with one kind of cause; a policy may name it instead of its
rules. docs/rules has a page for each. --json adds the advice and the page.`
}

func (rulesCmd) examples() []example {
	return []example{
		{"amn rules", "Every rule with what it means."},
		{"amn rules --json", "The same for a program."},
	}
}

// Run implements the command.
func (rulesCmd) Run(_ context.Context, s *session) error {
	if !s.json {
		width := 0
		for _, r := range gate.Rules() {
			width = max(width, len(r.ID))
		}
		for _, r := range gate.Rules() {
			s.prose(width+21, "%s  %s  %s  %s", pad(r.ID, width), pad(r.Kind, 8), pad(r.Severity.String(), 7), r.Title)
		}
		return nil
	}
	object(s.out, func(o *jsonObject) {
		o.field("schema", "amn.rules/1")
		o.list("rules", func(add func(func(*jsonObject))) {
			for _, r := range gate.Rules() {
				add(func(o *jsonObject) {
					o.field("id", r.ID)
					o.field("kind", r.Kind)
					o.field("severity", r.Severity.String())
					o.field("title", r.Title)
					o.field("advice", r.Advice)
					o.field("page", r.Page())
				})
			}
		})
	})
	return s.out.WriteByte('\n')
}
