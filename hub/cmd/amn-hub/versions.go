package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/hub/api"
	"github.com/anamnesis-go/anamnesis/hub/blob"
	"github.com/anamnesis-go/anamnesis/hub/rollout"
	"github.com/anamnesis-go/anamnesis/hub/rules"
	"github.com/anamnesis-go/anamnesis/hub/store"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// caller returns who runs the command: the user of the system.
func caller() string {
	if name := os.Getenv("USER"); name != "" {
		return "command of " + wire.Text(name, 64)
	}
	return "command"
}

// policyOf returns the gate of a policy: a file, a profile, or the number of a version.
func policyOf(ctx context.Context, db store.Store, name string) (gate.Gate, error) {
	n, err := strconv.ParseInt(name, 10, 64)
	if err != nil {
		return (&gateFlags{name}).gate()
	}
	g := gate.Gate{Version: programVersion(), Digest: true}
	v, ok, err := db.PolicyVersion(ctx, n)
	if err != nil {
		return g, err
	}
	if !ok {
		return g, fmt.Errorf("there is no version %d of a policy", n)
	}
	g.Policy, err = gate.ParsePolicy(v.Body)
	return g, err
}

// policyPutCmd keeps a policy.
type policyPutCmd struct {
	dbFlags

	Policy string `arg:"" placeholder:"FILE|PROFILE" help:"The policy."`
	Tenant string `help:"The tenant that may use it (default: all may)."`
	Note   string `help:"What it is for."`
}

// Run implements the command.
func (c *policyPutCmd) Run(ctx context.Context, s streams) error {
	g, err := (&gateFlags{c.Policy}).gate()
	if err != nil {
		return err
	}
	text, err := g.Policy.MarshalJSON()
	if err != nil {
		return err
	}
	v, err := api.Version(string(text))
	if err != nil {
		return err
	}
	db, err := c.open(ctx, s, store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	v.Owner, v.Note, v.Caller = c.Tenant, wire.Text(c.Note, 256), caller()
	if v, err = db.PutPolicy(ctx, v); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "version %d\n", v.Number)
	return nil
}

// all returns the name of a tenant, or "(all)" for a version that applies to every tenant.
func all(tenant string) string {
	if tenant == "" {
		return "(all)"
	}
	return wire.Text(tenant, 64)
}

// policyListCmd lists versions and promotions.
type policyListCmd struct {
	dbFlags

	JSON bool `name:"json" help:"Print versions and promotions as JSON, one per line."`
}

// Run implements the command.
func (c *policyListCmd) Run(ctx context.Context, s streams) error {
	db, err := c.open(ctx, s, store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	versions, err := db.PolicyVersions(ctx, "*")
	if err != nil {
		return err
	}
	promotions, err := db.Promotions(ctx, "*")
	if err != nil {
		return err
	}
	if c.JSON {
		for _, v := range versions {
			if err := writeJSON(s.out, v); err != nil {
				return err
			}
		}
		for _, p := range promotions {
			if err := writeJSON(s.out, p); err != nil {
				return err
			}
		}
		return nil
	}
	inForce := map[string]store.Promotion{}
	for _, p := range slices.Backward(promotions) { // the last one first
		inForce[p.Tenant] = p
	}
	of := map[int64][]string{}
	for _, tenant := range slices.Sorted(maps.Keys(inForce)) {
		p := inForce[tenant]
		of[p.Version] = append(of[p.Version], all(tenant)+" "+p.Mode)
	}
	out := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "VERSION\tFOR\tDIGEST\tIN FORCE\tNOTE")
	for _, v := range versions {
		fmt.Fprintf(out, "%d\t%s\t%s\t%s\t%s\n", v.Number, all(v.Owner), v.Digest[:12], strings.Join(of[v.Number], ", "), v.Note)
	}
	return out.Flush()
}

// policyShowCmd prints a version.
type policyShowCmd struct {
	dbFlags

	Version int64 `arg:"" help:"Its number."`
}

// Run implements the command.
func (c *policyShowCmd) Run(ctx context.Context, s streams) error {
	db, err := c.open(ctx, s, store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	v, ok, err := db.PolicyVersion(ctx, c.Version)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("there is no version %d of a policy", c.Version)
	}
	_, err = fmt.Fprintf(s.out, "%s\n", v.Body)
	return err
}

// policyPromoteCmd puts a version in force.
type policyPromoteCmd struct {
	dbFlags

	Version int64  `arg:"" help:"Its number; 0 is the policy of --limits."`
	Tenant  string `help:"Only for this tenant (default: for all that have none of their own)."`
	Mode    string `default:"enforce" enum:"enforce,report" help:"enforce, or report: verdicts say what the policy would refuse, without quarantine events and receipts."`
	Reason  string `required:"" help:"Why."`
}

// Run implements the command.
func (c *policyPromoteCmd) Run(ctx context.Context, s streams) error {
	db, err := c.open(ctx, s, store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	if c.Version != 0 { // what this program cannot read is not put in force by it
		if _, err := policyOf(ctx, db, strconv.FormatInt(c.Version, 10)); err != nil {
			return err
		}
	}
	p, err := db.Promote(ctx, store.Promotion{Tenant: c.Tenant, Version: c.Version, Mode: c.Mode, Reason: c.Reason, Caller: caller()})
	return promoted(s, p, err)
}

func promoted(s streams, p store.Promotion, err error) error {
	if errors.Is(err, store.ErrNoVersion) {
		return errors.New("there is no such version that the tenant may use, or nothing to go back to")
	}
	if err != nil {
		return err
	}
	what := fmt.Sprintf("version %d", p.Version)
	if p.Version == 0 {
		what = "the policy of --limits"
	}
	fmt.Fprintf(s.out, "%s is in force for %s: %s\n", what, all(p.Tenant), p.Mode)
	return nil
}

// policyRollbackCmd goes back.
type policyRollbackCmd struct {
	dbFlags

	Tenant string `help:"For this tenant (default: for all that have none of their own)."`
	Reason string `required:"" help:"Why."`
}

// Run implements the command.
func (c *policyRollbackCmd) Run(ctx context.Context, s streams) error {
	db, err := c.open(ctx, s, store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	p, err := db.Rollback(ctx, c.Tenant, caller(), c.Reason)
	return promoted(s, p, err)
}

// exceptCmd has the commands about exceptions.
type exceptCmd struct {
	List   exceptListCmd   `cmd:"" help:"List exceptions and appeals."`
	Add    exceptAddCmd    `cmd:"" help:"Disable one rule for one content of a tenant, until a day."`
	Grant  exceptGrantCmd  `cmd:"" help:"Grant an appeal."`
	Deny   exceptDenyCmd   `cmd:"" help:"Deny an appeal."`
	Revoke exceptRevokeCmd `cmd:"" help:"Take back what was granted."`
}

type exceptListCmd struct {
	dbFlags

	Tenant string `default:"*" help:"Only of this tenant."`
	JSON   bool   `name:"json" help:"Print them as JSON, one per line."`
}

// Run implements the command.
func (c *exceptListCmd) Run(ctx context.Context, s streams) error {
	db, err := c.open(ctx, s, store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	list, err := db.Exceptions(ctx, c.Tenant)
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	if !c.JSON {
		fmt.Fprintln(out, "ID\tTENANT\tRULE\tCONTENT\tSTATE\tUNTIL\tREASON")
	}
	for _, x := range list {
		if c.JSON {
			if err := writeJSON(s.out, x); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(out, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", x.ID, wire.Text(x.Tenant, 64), x.Rule, x.SHA256[:12], x.State, x.Expires, wire.Text(x.Reason, 128))
	}
	return out.Flush()
}

type exceptAddCmd struct {
	dbFlags

	Tenant  string `default:"local" help:"Whose repositories it is for."`
	Rule    string `required:"" help:"The rule."`
	SHA256  string `name:"sha256" required:"" help:"The digest of the content."`
	Reason  string `required:"" help:"Why."`
	Expires string `required:"" placeholder:"DAY" help:"The last day on which it is valid, such as 2026-12-31."`
}

// Run implements the command.
func (c *exceptAddCmd) Run(ctx context.Context, s streams) error {
	if !gate.IsRule(c.Rule) {
		return usage("--rule " + c.Rule + ": there is no such rule")
	}
	if err := day(c.Expires); err != nil {
		return err
	}
	db, err := c.open(ctx, s, store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	x, err := db.Except(ctx, store.Exception{Tenant: c.Tenant, Rule: c.Rule, SHA256: c.SHA256, Reason: c.Reason, Expires: c.Expires, State: store.Granted, Caller: caller()})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "exception %d is in force until %s\n", x.ID, x.Expires)
	return nil
}

// day returns what is wrong with the last day of an exception.
func day(text string) error {
	now := time.Now().UTC()
	d, err := time.Parse(time.DateOnly, text)
	if err != nil || d.AddDate(0, 0, 1).Before(now) || d.After(now.AddDate(1, 0, 1)) {
		return usage("--expires " + text + ": a day such as 2026-12-31, today or later, at most a year from now")
	}
	return nil
}

// decision is what the commands about one appeal have.
type decision struct {
	dbFlags

	ID     int64  `arg:"" help:"Its number."`
	Answer string `required:"" help:"Why, for who asked."`
}

func (c *decision) decide(ctx context.Context, s streams, state, expires string) error {
	db, err := c.open(ctx, s, store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	ok, err := db.Decide(ctx, "*", store.Exception{ID: c.ID, State: state, Expires: expires, Answer: c.Answer, Decided: caller()})
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("there is no exception %d that could be %s", c.ID, state)
	}
	fmt.Fprintf(s.out, "exception %d is %s\n", c.ID, state)
	return nil
}

type exceptGrantCmd struct {
	decision

	Expires string `required:"" placeholder:"DAY" help:"The last day on which it is valid."`
}

// Run implements the command.
func (c *exceptGrantCmd) Run(ctx context.Context, s streams) error {
	if err := day(c.Expires); err != nil {
		return err
	}
	return c.decide(ctx, s, store.Granted, c.Expires)
}

type exceptDenyCmd struct{ decision }

// Run implements the command.
func (c *exceptDenyCmd) Run(ctx context.Context, s streams) error {
	return c.decide(ctx, s, store.Denied, "")
}

type exceptRevokeCmd struct{ decision }

// Run implements the command.
func (c *exceptRevokeCmd) Run(ctx context.Context, s streams) error {
	return c.decide(ctx, s, store.Revoked, "")
}

// exportCmd prints verdicts.
type exportCmd struct {
	dbFlags
	gateFlags

	Tenant string `help:"Only of this tenant."`
}

// Run implements the command.
func (c *exportCmd) Run(ctx context.Context, s streams) error {
	db, err := c.open(ctx, s, store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	g, err := c.gate()
	if err != nil {
		return err
	}
	policies, err := rollout.New(db, g, sourcesOf(), nil)
	if err != nil {
		return err
	}
	policies.ReadOnly = true
	if _, err := policies.Fresh(ctx); err != nil {
		return err
	}
	return db.Revisions(ctx, c.Tenant, func(v store.Verdict) error {
		by, err := policies.For(v.Tenant)
		if err != nil {
			return err
		}
		line := entry(v, by.Mode)
		line["current"] = by.Good(&v) // else it is to be judged again
		return writeJSON(s.out, line)
	})
}

// retainCmd deletes old data.
type retainCmd struct {
	dbFlags

	Keep   string `required:"" placeholder:"TIME" help:"How long everything is kept, such as 2160h for 90 days. The newest revision of a repository is always kept."`
	Blobs  string `placeholder:"DIR" help:"Where contents are kept (default: beside the database file)."`
	DryRun bool   `help:"Print what would be forgotten, and change nothing."`
}

// Run implements the command.
func (c *retainCmd) Run(ctx context.Context, s streams) error {
	keep, err := duration("--keep", c.Keep)
	if err != nil {
		return err
	}
	at, err := blobsOf(c.DB, c.Blobs)
	if err != nil {
		return err
	}
	db, err := c.open(ctx, s, store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	f, err := db.Retain(ctx, time.Now().Add(-keep), c.DryRun)
	if err != nil {
		return err
	}
	return forget(s, f, at, "", c.DryRun)
}

// eraseCmd deletes a tenant.
type eraseCmd struct {
	dbFlags

	Tenant string `required:"" help:"The tenant."`
	Blobs  string `placeholder:"DIR" help:"Where contents are kept (default: beside the database file)."`
	DryRun bool   `help:"Print what would be forgotten, and change nothing."`
}

// Run implements the command.
func (c *eraseCmd) Run(ctx context.Context, s streams) error {
	at, err := blobsOf(c.DB, c.Blobs)
	if err != nil {
		return err
	}
	db, err := c.open(ctx, s, store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	f, err := db.Erase(ctx, c.Tenant, caller(), c.DryRun)
	if err != nil {
		return err
	}
	return forget(s, f, at, c.Tenant, c.DryRun)
}

// blobsOf is where contents are kept. It is known before anything is forgotten.
func blobsOf(db, at string) (string, error) {
	if at == "" && strings.Contains(db, "://") {
		return "", usage("--blobs is needed with postgres://: the folder in which contents are kept")
	}
	if at == "" {
		at = db + ".blobs"
	}
	return at, nil
}

// forget deletes the bytes of contents whose rows are gone, of an erased tenant all, and prints
// what was forgotten.
func forget(s streams, f store.Forgotten, at, tenant string, dry bool) error {
	if _, err := os.Stat(at); err == nil && !dry {
		blobs, err := blob.OpenToRead(at)
		if err != nil {
			return err
		}
		defer blobs.Close()
		if tenant != "" {
			if err := blobs.DeleteAll(tenant); err != nil {
				return err
			}
		}
		for _, one := range f.Contents {
			if err := blobs.Delete(one.Tenant, one.SHA256); err != nil {
				return err
			}
		}
	}
	for _, table := range slices.Sorted(maps.Keys(f.Rows)) {
		if f.Rows[table] > 0 {
			fmt.Fprintf(s.out, "%6d  %s\n", f.Rows[table], table)
		}
	}
	what := "contents deleted"
	if dry {
		what = "contents would be deleted"
	}
	fmt.Fprintf(s.out, "%6d  %s\n", len(f.Contents), what)
	return nil
}

// hooksCmd prints the events that wait for webhooks.
type hooksCmd struct {
	dbFlags

	Resend string `placeholder:"HOOK" help:"Send failed events to this webhook again."`
}

// Run implements the command.
func (c *hooksCmd) Run(ctx context.Context, s streams) error {
	db, err := c.open(ctx, s, store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	if c.Resend != "" {
		n, err := db.Resend(ctx, c.Resend)
		if err != nil {
			return err
		}
		fmt.Fprintf(s.out, "%d are due again\n", n)
		return nil
	}
	owed, err := db.Owed(ctx)
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "HOOK\tSTATE\tEVENTS")
	for _, key := range slices.SortedFunc(maps.Keys(owed), func(a, b [2]string) int { return strings.Compare(a[0]+" "+a[1], b[0]+" "+b[1]) }) {
		fmt.Fprintf(out, "%s\t%s\t%d\n", key[0], key[1], owed[key])
	}
	return out.Flush()
}

// rulesCmd prints the rules.
type rulesCmd struct{}

// Run implements the command.
func (rulesCmd) Run(s streams) error {
	parts, err := rules.Parts(programVersion(), sourcesOf())
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "RULE\tDIGEST\tREADS")
	for _, id := range slices.Sorted(maps.Keys(parts)) {
		fmt.Fprintf(out, "%s\t%s\t%s\n", id, parts[id], strings.Join(rules.Mask(id), " "))
	}
	return out.Flush()
}
