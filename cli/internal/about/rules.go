package about

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/flags"
	"github.com/anamnesis-go/anamnesis/cli/internal/jsonout"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/gate"
)

// Rules lists the rules of refusals and findings.
type Rules struct {
	Filters []string `arg:"" optional:"" name:"filter" help:"An identifier, a pattern of identifiers (zip.*), or a word that the identifier or the title contains. Several are added."`
}

func (Rules) Help() string {
	return `Lists the rules by which a scan refuses files and reports findings, with the identifiers that
reports carry and that "ignore" and "rules" of a policy name. A group such as zip.duplicate
covers all refusals of a format with one kind of cause; a policy may name it instead of its
rules. docs/rules has a page for each. With a whole identifier, everything about that rule is
printed: why it matters, how to mend the file, how to allow it in a policy. --json has this for
every rule.`
}

func (Rules) Examples() []run.Example {
	return []run.Example{
		{Command: "amn rules", What: "Every rule with what it means."},
		{Command: "amn rules pickle", What: "Those about pickles."},
		{Command: "amn rules sidecar.unexplained", What: "All of one: why it matters, how to mend the file, how to allow it."},
		{Command: "amn rules --json", What: "The same for a program."},
	}
}

// rules returns the rules that the filters choose; all, without a filter.
func (c *Rules) rules() ([]gate.Rule, error) {
	all := gate.Rules()
	if len(c.Filters) == 0 {
		return all, nil
	}
	chosen := make([]bool, len(all))
	for _, f := range c.Filters {
		if i := slices.IndexFunc(all, func(r gate.Rule) bool { return r.ID == f }); i >= 0 {
			chosen[i] = true
			continue
		}
		word, found := strings.ToLower(f), false
		for i, r := range all {
			fits := strings.Contains(strings.ToLower(r.ID), word) || strings.Contains(strings.ToLower(r.Title), word) || flags.Globs{word}.Match(r.ID)
			chosen[i], found = chosen[i] || fits, found || fits
		}
		if !found {
			ids := make([]string, len(all))
			for i, r := range all {
				ids[i] = r.ID
			}
			return nil, fault.Usage(fmt.Sprintf("no rule has %q in its identifier or title%s", f, fault.Nearest(f, ids)))
		}
	}
	var list []gate.Rule
	for i, r := range all {
		if chosen[i] {
			list = append(list, r)
		}
	}
	return list, nil
}

// Run implements the command.
func (c *Rules) Run(_ context.Context, s *run.Run) error {
	rules, err := c.rules()
	if err != nil {
		return err
	}
	if !s.JSON && len(c.Filters) > 0 && len(rules) == len(c.Filters) && !slices.ContainsFunc(rules, func(r gate.Rule) bool { return !slices.Contains(c.Filters, r.ID) }) {
		for i, r := range rules {
			if i > 0 {
				s.Out.WriteByte('\n')
			}
			printRule(s, &r)
		}
		return nil
	}
	if !s.JSON {
		width := 0
		for _, r := range rules {
			width = max(width, len(r.ID))
		}
		for _, r := range rules {
			s.Out.Prose(width+21, "%s  %s  %s  %s", term.Pad(r.ID, width), term.Pad(r.Kind, 8), term.Pad(r.Severity.String(), 7), r.Title)
		}
		return nil
	}
	jsonout.Write(s.Out.Writer, func(o *jsonout.Object) {
		o.Field("schema", "amn.rules/1")
		o.List("rules", func(add func(func(*jsonout.Object))) {
			for _, r := range rules {
				add(func(o *jsonout.Object) {
					o.Field("id", r.ID)
					o.Field("kind", r.Kind)
					o.Field("severity", r.Severity.String())
					o.Field("title", r.Title)
					o.Field("why", r.Why)
					o.Field("advice", r.Advice)
					allow, member := r.Allow()
					o.Field("allow", allow)
					o.Field("policy", member)
					o.Field("page", r.Page())
				})
			}
		})
	})
	return s.Out.WriteByte('\n')
}

// printRule prints all of a rule.
func printRule(s *run.Run, r *gate.Rule) {
	allow, member := r.Allow()
	s.Out.Prose(0, "%s (%s, %v)", r.ID, r.Kind, r.Severity)
	for _, line := range [][2]string{{"What", r.Title}, {"Why", r.Why}, {"Mend", r.Advice}, {"Allow", allow}, {"Policy", member}, {"Page", r.Page()}} {
		if line[1] != "" {
			s.Out.Prose(8, "%s%s", term.Pad(line[0]+":", 8), line[1])
		}
	}
}
