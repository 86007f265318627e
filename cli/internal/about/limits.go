package about

import (
	"context"
	"fmt"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Limits holds the commands about limits.
type Limits struct {
	Show limitsShowCmd `cmd:"" default:"withargs" help:"Print a policy as JSON that --limits reads back."`
}

// limitsShowCmd prints a policy.
type limitsShowCmd struct {
	Profile string `arg:"" optional:"" help:"The profile to print: server, strict, edge or upload. Without it, the result of --limits and the other flags."`
}

func (limitsShowCmd) Help() string {
	return `server is the default, for an upload handler. strict is for a gate that protects others: it
refuses pickle files, unknown archive members and every finding. edge is for a small machine:
64 MiB in all. upload is for one request to a host with many tenants: 64 MiB for header and
bodies. Flags override the profile.`
}

func (limitsShowCmd) Examples() []run.Example {
	return []run.Example{
		{Command: "amn limits show strict", What: "The policy of a gate."},
		{Command: "amn limits show --max-total 2GiB > policy.json", What: "A policy of your own, for --limits policy.json."},
	}
}

// Run implements the command.
func (c *limitsShowCmd) Run(_ context.Context, s *run.Run) error {
	p := s.Policy.Limits
	if c.Profile != "" {
		var ok bool
		if p, ok = limits.Profile(c.Profile); !ok {
			return fault.Usage(fmt.Sprintf("%q is not a profile: %s%s", c.Profile, strings.Join(limits.Profiles(), ", "), fault.Nearest(c.Profile, append(limits.Profiles(), "show"))))
		}
		if s.Policy.Flags.Limits != "" {
			return fault.Usage("give a profile or --limits, not both")
		}
		if err := s.Policy.Flags.Ceilings.Apply(&p); err != nil {
			return fault.Usage(err.Error())
		}
	}
	return printPolicy(s, p)
}
