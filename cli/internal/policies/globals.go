package policies

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/disk"
	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Globals are the flags of every command.
type Globals struct {
	JSON  bool `help:"Print JSON: one object per file, one per line."`
	Quiet bool `short:"q" help:"No progress and no summary, only results and errors."`

	Limits string `placeholder:"FILE|PROFILE" help:"Policy for files: a profile (server, strict, edge, upload) or a JSON file in the form of amn limits show. With it, files are verified."`

	HelpLimits bool `help:"List the flags that set a single limit (amn help limits)."`

	Ceilings AxisFlags `embed:"" group:"limits"`
	MaxSpool string    `group:"limits" placeholder:"SIZE" default:"8GiB" help:"Maximum size of a pipe on standard input, which is kept in a temporary file (${default})."`
}

// AxisFlags hold the ceilings that were given; the others are empty.
type AxisFlags struct {
	SingleAlloc  string `name:"max-single-alloc" placeholder:"SIZE" help:"Largest single buffer that a file may require."`
	Total        string `name:"max-total" placeholder:"SIZE" help:"Maximum memory for a file."`
	Items        string `name:"max-items" placeholder:"N" help:"Maximum number of tensors, keys, members and values."`
	InflateRatio string `name:"max-inflate-ratio" placeholder:"N" help:"Maximum inflated bytes per compressed byte, beyond 64 MiB."`
	ExpandRatio  string `name:"max-expand-ratio" placeholder:"N" help:"Maximum tensor bytes per byte of the file, beyond 64 MiB."`
	Depth        string `name:"max-depth" placeholder:"N" help:"Maximum depth of nesting."`
	StepCount    string `name:"max-steps" placeholder:"N" help:"Maximum number of parser steps."`
	WorkingSet   string `name:"max-working-set" placeholder:"SIZE" help:"Maximum memory of the pickle machine."`
	OpenFiles    string `name:"max-open-files" placeholder:"N" help:"Maximum number of open files of a model."`
	Requests     string `name:"max-requests" placeholder:"N" help:"Maximum number of requests, if a model is read from a server."`
	Fetched      string `name:"max-fetched" placeholder:"SIZE" help:"Maximum number of bytes fetched from servers."`
	Time         string `name:"timeout" placeholder:"TIME" help:"Time limit for one file: 60s, 5m, none. Default: 60s; none for commands other than scan that read or write whole models."`
}

// ByAxis returns the ceilings by axis.
func (f *AxisFlags) ByAxis() map[limits.Axis]string {
	return map[limits.Axis]string{
		limits.SingleAlloc: f.SingleAlloc, limits.Total: f.Total, limits.Items: f.Items,
		limits.InflateRatio: f.InflateRatio, limits.ExpandRatio: f.ExpandRatio, limits.Depth: f.Depth,
		limits.StepCount: f.StepCount, limits.WorkingSet: f.WorkingSet, limits.OpenFiles: f.OpenFiles,
		limits.Requests: f.Requests, limits.Fetched: f.Fetched, limits.Time: f.Time,
	}
}

// Apply sets the given ceilings in p.
func (f *AxisFlags) Apply(p *limits.Policy) error {
	given := f.ByAxis()
	for _, axis := range limits.Axes() {
		if text := given[axis]; text != "" {
			if err := p.Set(axis, text); err != nil {
				return fmt.Errorf("%s: %w", fault.AxisFlag(axis), err)
			}
		}
	}
	return nil
}

// InForce is what flags and policies have set for a run.
type InForce struct {
	Flags  *Globals
	Limits limits.Policy
	Gate   gate.Policy // all of the policy, for scans
	Verify bool        // --limits was given: bodies are verified
	Strict bool        // the command has --tensors-only, which was not given

	MaxSpool int64
}

// Resolve sets what is in force from the flags.
func (p *InForce) Resolve(g *Globals) error {
	p.Flags, p.Verify = g, g.Limits != ""
	var err error
	if p.Gate, err = Read(g.Limits); err != nil {
		return fmt.Errorf("--limits: %w", err)
	}
	p.Limits = p.Gate.Limits
	if profile, ok := limits.Profile(g.Limits); ok {
		p.Limits = profile // without fail_on, which only a scan uses
	}
	if err := cmp.Or(g.Ceilings.Apply(&p.Limits), g.Ceilings.Apply(&p.Gate.Limits)); err != nil {
		return err
	}
	if p.MaxSpool, err = limits.ParseSize(g.MaxSpool); err != nil {
		return fmt.Errorf("--max-spool: %w", err)
	}
	return nil
}

// Long returns the limits of work on whole models: it has no deadline unless a flag or the
// policy sets one.
func (p *InForce) Long() *limits.Policy {
	l := p.Limits
	if p.Flags.Ceilings.Time == "" && (!p.Verify || l.Timeout == 0) {
		l.Timeout = limits.NoTimeout
	}
	return &l
}

// Read returns the profile called arg, or reads a policy file.
func Read(arg string) (gate.Policy, error) {
	if arg == "" {
		return gate.Policy{}, nil
	}
	if p, ok := gate.Profile(arg); ok {
		return p, nil
	}
	f, err := disk.OpenNamed(arg)
	if err != nil {
		if os.IsNotExist(err) && !strings.ContainsAny(arg, `/\.`) {
			return gate.Policy{}, fmt.Errorf("%q is neither a profile (%s) nor a file%s", arg, strings.Join(limits.Profiles(), ", "), fault.Nearest(arg, limits.Profiles()))
		}
		return gate.Policy{}, err
	}
	defer f.Close()
	p, err := gate.ReadPolicy(f)
	if err != nil {
		return p, fmt.Errorf("%s: %w", arg, err)
	}
	return p, nil
}
