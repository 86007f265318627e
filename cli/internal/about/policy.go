package about

import (
	"context"
	"encoding/json"
	"time"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/jsonout"
	"github.com/anamnesis-go/anamnesis/cli/internal/policies"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/gate"
)

// Policy holds the commands about policies.
type Policy struct {
	Show    policyShowCmd    `cmd:"" help:"Print a policy as JSON with all its members."`
	Check   policyCheckCmd   `cmd:"" help:"Check a policy file, and list its expired exceptions."`
	Explain policyExplainCmd `cmd:"" help:"Explain in words what a policy accepts and refuses."`
	Learn   policyLearnCmd   `cmd:"" help:"Draft the smallest policy for pickles that you trust."`
}

// policyArg names a policy.
type policyArg struct {
	Policy string `arg:"" name:"policy" help:"A profile (server, strict, edge, upload) or a JSON file."`
}

// read returns the policy, with limits overridden by flags.
func (a *policyArg) read(s *run.Run) (gate.Policy, error) {
	if s.Policy.Flags.Limits != "" {
		return gate.Policy{}, fault.Usage("give the policy as the argument, not with --limits")
	}
	p, err := policies.Read(a.Policy)
	if err != nil {
		return p, fault.Usage(err.Error())
	}
	if err := s.Policy.Flags.Ceilings.Apply(&p.Limits); err != nil {
		return p, fault.Usage(err.Error())
	}
	return p, nil
}

// policyShowCmd prints a policy.
type policyShowCmd struct{ policyArg }

func (policyShowCmd) Help() string {
	return `Prints everything that scan and serve check: the members that amn limits show prints, and those
of a gate ("version": 3): formats, dtypes, schemes ("*" is all), pickle, allow_globals, classes, loaders, fail_on,
unlooked, rules, paths, ignore. --limits reads the output back.`
}

func (policyShowCmd) Examples() []run.Example {
	return []run.Example{
		{Command: "amn policy show strict", What: "The policy of a gate that protects others."},
		{Command: "amn policy show server > policy.json", What: "A policy of your own, for --limits policy.json."},
	}
}

// Run implements the command.
func (c *policyShowCmd) Run(_ context.Context, s *run.Run) error {
	p, err := c.read(s)
	if err != nil {
		return err
	}
	return printPolicy(s, p)
}

// printPolicy prints a policy in the form of its file.
func printPolicy(s *run.Run, p json.Marshaler) error {
	text, err := p.MarshalJSON()
	if err != nil {
		return err
	}
	s.Out.Write(text)
	return s.Out.WriteByte('\n')
}

// policyCheckCmd checks a policy.
type policyCheckCmd struct{ policyArg }

func (policyCheckCmd) Help() string {
	return `Reads a policy as scan does. An unknown member, rule, format, type or global, or an exception
without a reason, is an error (exit code 2). Expired exceptions are listed; they are not an
error, and scan reports them where they would have applied.`
}

func (policyCheckCmd) Examples() []run.Example {
	return []run.Example{{Command: "amn policy check policy.json", What: "Is it valid, and which exceptions have expired?"}}
}

// Run implements the command.
func (c *policyCheckCmd) Run(_ context.Context, s *run.Run) error {
	p, err := c.read(s)
	if err != nil {
		return err
	}
	digest, err := p.Digest()
	if err != nil {
		return err
	}
	out := expired(&p, time.Now().UTC().Format(time.DateOnly))
	if s.JSON {
		jsonout.Write(s.Out.Writer, func(o *jsonout.Object) {
			o.Field("schema", "amn.policy-check/1")
			o.Text("policy", c.Policy)
			o.Field("digest", digest)
			o.List("expired", func(add func(func(*jsonout.Object))) {
				for _, e := range out {
					add(func(o *jsonout.Object) {
						o.Field("rule", e.Rule)
						o.Field("expires", e.Expires)
						o.Text("reason", e.Reason)
					})
				}
			})
		})
		return s.Out.WriteByte('\n')
	}
	s.Out.Line("%s: ok, SHA-256 of its content %s", term.Path(c.Policy), digest)
	for _, e := range out {
		s.Out.Prose(2, "expired on %s: the exception for %s (%s)", e.Expires, e.Rule, term.Tidy(e.Reason, 256))
	}
	return nil
}

// expired returns the exceptions that have expired.
func expired(p *gate.Policy, today string) (out []gate.Exception) {
	for _, e := range p.Ignore {
		if e.Expires != "" && e.Expires < today {
			out = append(out, e)
		}
	}
	return out
}

// policyExplainCmd explains a policy.
type policyExplainCmd struct {
	policyArg

	Path string `placeholder:"NAME" help:"Explain the policy for a file of this name, with its blocks of paths applied."`
}

func (policyExplainCmd) Help() string {
	return `One sentence for each decision of the policy; with --path, for a file of that name.`
}

func (policyExplainCmd) Examples() []run.Example {
	return []run.Example{
		{Command: "amn policy explain strict", What: "What does it refuse?"},
		{Command: "amn policy explain policy.json --path models/training_args.bin", What: "What holds for this file?"},
	}
}

// Run implements the command.
func (c *policyExplainCmd) Run(_ context.Context, s *run.Run) error {
	p, err := c.read(s)
	if err != nil {
		return err
	}
	today := time.Now().UTC().Format(time.DateOnly)
	list := p.Explain(today)
	if c.Path != "" {
		list = p.ExplainFor(c.Path, today)
	}
	if s.JSON {
		jsonout.Write(s.Out.Writer, func(o *jsonout.Object) {
			o.Field("schema", "amn.policy-explain/1")
			o.Text("policy", c.Policy)
			if c.Path != "" {
				o.Text("path", c.Path)
			}
			o.List("sentences", func(add func(func(*jsonout.Object))) {
				for _, line := range list {
					add(func(o *jsonout.Object) { o.Text("text", line) })
				}
			})
		})
		return s.Out.WriteByte('\n')
	}
	for _, line := range list {
		s.Out.Prose(2, "%s", term.Tidy(line, 4096))
	}
	return nil
}
