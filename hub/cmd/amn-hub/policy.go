package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/hub/source"
	"github.com/anamnesis-go/anamnesis/hub/store"
	"github.com/anamnesis-go/anamnesis/hub/worker"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// policyCmd has the commands about policies.
type policyCmd struct {
	Put      policyPutCmd      `cmd:"" help:"Keep a policy as a version. Nothing is judged by it until it is promoted."`
	List     policyListCmd     `cmd:"" help:"List the versions, and which are in force."`
	Show     policyShowCmd     `cmd:"" help:"Print a version."`
	Promote  policyPromoteCmd  `cmd:"" help:"Put a version in force."`
	Rollback policyRollbackCmd `cmd:"" help:"Put in force what the last promotion replaced."`
	Diff     policyDiffCmd     `cmd:"" help:"Print which stored verdicts another policy would change, from what was read of the files."`
}

// policyDiffCmd compares stored verdicts with those by another policy.
type policyDiffCmd struct {
	dbFlags

	Old    string `arg:"" placeholder:"FILE|PROFILE|VERSION" help:"The other policy; of two, the older one."`
	New    string `arg:"" optional:"" placeholder:"FILE|PROFILE|VERSION" help:"The newer one, to compare two policies with each other."`
	Tenant string `help:"Only repositories of this tenant."`
	JSON   bool   `name:"json" help:"Print the changes as JSON, one per line."`
}

// Help implements kong's help.
func (policyDiffCmd) Help() string {
	return `Nothing is changed and no file is opened. What would be asked of a file that was not read before
is not guessed: such a repository is listed as one that has to be judged again.`
}

// A change is a repository about which another policy says another thing.
type change struct {
	Schema string   `json:"schema"`
	Tenant string   `json:"tenant"`
	Repo   string   `json:"repo"`
	Before string   `json:"before"` // "" if its files are needed
	After  string   `json:"after"`  // "" if its files are needed
	Rules  []string `json:"rules,omitempty"`
}

// Run implements the command.
func (c *policyDiffCmd) Run(ctx context.Context, s streams) error {
	db, err := c.open(ctx, s, store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	g, err := policyOf(ctx, db, cmp.Or(c.New, c.Old))
	if err != nil {
		return err
	}
	judge, err := g.WithDigest()
	if err != nil {
		return err
	}
	var older *gate.Gate
	if c.New != "" {
		g, err := policyOf(ctx, db, c.Old)
		if err != nil {
			return err
		}
		if older, err = g.WithDigest(); err != nil {
			return err
		}
	}
	process := g.Policy.Limits
	process.Timeout = limits.NoTimeout
	b := process.Budget(ctx)
	defer b.Close()
	w := &worker.Worker{Store: db, Gate: g, Budget: b}
	var list []store.Verdict // the answers of one query are read before others are asked
	if err := db.Revisions(ctx, c.Tenant, func(v store.Verdict) error {
		v.Detail = nil
		list = append(list, v)
		return nil
	}); err != nil {
		return err
	}
	total := map[string]int{}
	byRule, byTenant := map[string]int{}, map[string]int{}
	out := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	for _, v := range list {
		to, err := c.compare(ctx, w, older, judge, v)
		if err != nil {
			return err
		}
		what := to.Before + " to " + to.After
		switch to.After {
		case "":
			what = "not known"
			if to.Before == "" {
				to.Before = v.Class
			}
		case to.Before:
			what = "the same"
		}
		total[what]++
		for _, r := range to.Rules {
			byRule[r]++
		}
		if to.After != to.Before {
			byTenant["tenant "+wire.Text(v.Tenant, 64)]++
		}
		switch {
		case to.After == to.Before:
		case c.JSON:
			if err := writeJSON(s.out, to); err != nil {
				return err
			}
		default:
			fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", wire.Text(v.Tenant, 64), wire.Text(v.Repo, 64), what, strings.Join(to.Rules, ", "))
		}
	}
	if c.JSON {
		return nil
	}
	if err := out.Flush(); err != nil {
		return err
	}
	for _, m := range []map[string]int{total, byRule, byTenant} {
		for _, k := range sortedKeys(m) {
			fmt.Fprintf(s.out, "%6d  %s\n", m[k], k)
		}
	}
	return nil
}

func sortedKeys[N any](m map[string]N) []string { return slices.Sorted(maps.Keys(m)) }

// sources are those of the environment: evidence is of the hub that they name.
func (policyDiffCmd) sources() source.Sources { return source.Sources{} }

// compare judges a revision from its evidence.
func (c *policyDiffCmd) compare(ctx context.Context, w *worker.Worker, older, g *gate.Gate, v store.Verdict) (change, error) {
	out := change{Schema: "amn.policy-change/1", Tenant: v.Tenant, Repo: v.Repo, Before: v.Class}
	files, err := w.Store.Files(ctx, v.ID)
	if err != nil {
		return out, err
	}
	sums := make([]string, len(files))
	for i, f := range files {
		if f.SHA256 == "" {
			return out, nil
		}
		sums[i] = f.SHA256
	}
	kept, err := w.Store.Evidence(ctx, c.sources().Domain(v.Address), sums)
	if err != nil {
		return out, err
	}
	if older != nil {
		was, ok, err := worker.FromEvidence(ctx, w, older, files, kept)
		if out.Before = was.Class; err != nil || !ok {
			out.Before = ""
			return out, err
		}
	}
	now, ok, err := worker.FromEvidence(ctx, w, g, files, kept)
	if err != nil || !ok {
		return out, err
	}
	if out.After = now.Class; now.Class != out.Before && !now.Accepted {
		out.Rules = rulesOf(now.Detail)
	}
	return out, nil
}

// rulesOf are the rules that refuse, each once.
func rulesOf(detail []byte) (rules []string) {
	var in struct{ Refusals []struct{ Rule string } }
	if json.Unmarshal(detail, &in) != nil {
		return nil
	}
	for _, r := range in.Refusals {
		if !slices.Contains(rules, r.Rule) {
			rules = append(rules, r.Rule)
		}
	}
	return rules
}
