package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/hub/api"
	"github.com/anamnesis-go/anamnesis/hub/rollout"
	"github.com/anamnesis-go/anamnesis/hub/store"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// report prints the verdicts of a sweep.
func (r *running) report(ctx context.Context) error {
	accepted, refused := 0, 0
	var out *tabwriter.Writer
	if !r.cmd.JSON {
		out = tabwriter.NewWriter(r.s.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(out, "REPOSITORY\tCLASS\tFILES\tREASON")
	}
	old := 0
	err := r.db.Revisions(ctx, "", func(v store.Verdict) error {
		if !r.part.has(v.Repo) {
			return nil
		}
		by, err := r.policies.For(v.Tenant)
		if err != nil {
			return err
		}
		if !by.Good(&v) {
			old++ // it could not be judged again
			return nil
		}
		if v.Accepted {
			accepted++
		} else {
			refused++
		}
		if r.cmd.JSON {
			return writeJSON(r.s.out, entry(v, by.Mode))
		}
		n, why := reasons(v.Detail)
		fmt.Fprintf(out, "%s\t%s\t%d\t%s\n", wire.Text(v.Repo, 64), v.Class, n, why)
		return nil
	})
	if err != nil {
		return err
	}
	if out != nil {
		if err := out.Flush(); err != nil {
			return err
		}
	}
	parked, err := r.db.Parked(ctx)
	if err != nil {
		return err
	}
	if !r.cmd.JSON {
		fmt.Fprintf(r.s.out, "\n%d accepted, %d refused, %d parked\n", accepted, refused, len(parked))
	}
	if refused+len(parked)+old > 0 && !r.cmd.Sweep {
		return refusedError(fmt.Sprintf("%d of %d repositories are not accepted", refused+len(parked)+old, accepted+refused+len(parked)+old))
	}
	return nil
}

// entry is a verdict as JSON.
func entry(v store.Verdict, mode string) map[string]any {
	return map[string]any{
		"schema": "amn.revision/1", "tenant": v.Tenant, "source": v.Source, "repo": v.Repo, "revision": v.Work.Revision, "judged": v.At, "epoch": v.Epoch,
		"dir_hash": v.DirHash, "class": v.Class, "accepted": v.Accepted, "claimed": v.Claimed, "policy": v.Policy, "rules": v.Rules, "mode": mode, "enforced": mode == store.Enforce, "verdict": json.RawMessage(v.Detail),
	}
}

// reasons returns how many files a verdict is about, and the rules that refuse them.
func reasons(detail []byte) (files int, why string) {
	var in struct{ Files []json.RawMessage }
	if err := json.Unmarshal(detail, &in); err != nil {
		return 0, "the verdict cannot be read"
	}
	rules := rulesOf(detail)
	if len(rules) > 4 {
		rules = append(rules[:4], fmt.Sprintf("and %d more", len(rules)-4))
	}
	return len(in.Files), strings.Join(rules, ", ")
}

// inForce returns what a tenant is judged by.
func (*gateFlags) inForce(ctx context.Context, db store.Store, g gate.Gate, tenant string) (*rollout.Current, error) {
	p, err := rollout.New(db, g, sourcesOf(), nil)
	if err != nil {
		return nil, err
	}
	p.ReadOnly = true // to ask changes nothing
	return p.Now(ctx, tenant)
}

// verdictCmd prints verdicts.
type verdictCmd struct {
	dbFlags
	gateFlags

	Tenant string `default:"local" help:"Whose repository it is."`
	Repo   string `arg:"" placeholder:"NAME[@REVISION]" help:"The repository."`
}

// Run implements the command.
func (c *verdictCmd) Run(ctx context.Context, s streams) error {
	db, err := c.open(ctx, s, store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	g, err := c.gate()
	if err != nil {
		return err
	}
	by, err := c.inForce(ctx, db, g, c.Tenant)
	if err != nil {
		return err
	}
	v, ok, err := db.Revision(ctx, c.Tenant, c.Repo, "") // a folder's name may have an @
	if name, revision, at := strings.Cut(c.Repo, "@"); err == nil && !ok && at {
		v, ok, err = db.Revision(ctx, c.Tenant, name, revision)
	}
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("nothing is known of %s of tenant %s", c.Repo, c.Tenant)
	}
	if err := writeJSON(s.out, entry(v, by.Mode)); err != nil {
		return err
	}
	if !by.Good(&v) {
		return fmt.Errorf("the verdict about %s was made under another policy or by other rules, or has expired: amn-hub run judges it again", c.Repo)
	}
	if !v.Accepted {
		return refusedError(c.Repo + " is refused")
	}
	return nil
}

// statusCmd prints how much of the work is done.
type statusCmd struct{ dbFlags }

// Run implements the command.
func (c *statusCmd) Run(ctx context.Context, s streams) error {
	db, err := c.open(ctx, s, store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	list, err := db.Standing(ctx)
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "TENANT\tWAITING\tIN WORK\tPARKED\tACCEPTED\tREFUSED")
	for _, t := range list {
		fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%d\t%d\n", wire.Text(t.Tenant, 64), t.Waiting, t.Admitted, t.Parked, t.Accepted, t.Refused)
	}
	return out.Flush()
}

// parkedCmd lists what waits for a person.
type parkedCmd struct{ dbFlags }

// Run implements the command.
func (c *parkedCmd) Run(ctx context.Context, s streams) error {
	db, err := c.open(ctx, s, store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	list, err := db.Parked(ctx)
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "ID\tTENANT\tREPOSITORY\tATTEMPTS\tREASON")
	for _, p := range list {
		fmt.Fprintf(out, "%d\t%s\t%s\t%d\t%s\n", p.ID, wire.Text(p.Tenant, 64), wire.Text(p.Repo, 128), p.Attempt, wire.Text(p.Reason, 1024))
	}
	return out.Flush()
}

// retryCmd puts parked revisions back.
type retryCmd struct {
	dbFlags

	ID  int64 `arg:"" optional:"" help:"The revision, as amn-hub parked numbers it."`
	All bool  `help:"All of them."`
}

// Run implements the command.
func (c *retryCmd) Run(ctx context.Context, s streams) error {
	if (c.ID == 0) != c.All {
		return usage("give the number of a parked revision, or --all")
	}
	db, err := c.open(ctx, s, store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	n, err := db.Retry(ctx, c.ID)
	if err != nil {
		return err
	}
	if n == 0 && !c.All {
		return fmt.Errorf("there is no parked revision %d", c.ID)
	}
	fmt.Fprintf(s.out, "%d put back\n", n)
	return nil
}

// rejudgeCmd puts revisions back that older rules judged.
type rejudgeCmd struct {
	dbFlags
	gateFlags

	DryRun bool `help:"Print how many, and change nothing."`
}

// Run implements the command.
func (c *rejudgeCmd) Run(ctx context.Context, s streams) error {
	g, err := c.gate()
	if err != nil {
		return err
	}
	db, err := c.open(ctx, s, store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	p, err := rollout.New(db, g, sourcesOf(), nil)
	if err != nil {
		return err
	}
	p.ReadOnly = c.DryRun
	if _, err := p.Fresh(ctx); err != nil {
		return err
	}
	plan, err := p.Rejudge(ctx, c.DryRun)
	if err != nil {
		return err
	}
	if !c.DryRun {
		fmt.Fprintf(s.out, "%d put back: amn-hub run judges them\n", plan.Revisions)
		return nil
	}
	c.print(s, plan)
	return nil
}

// print prints a plan. What was never measured here is not guessed.
func (c *rejudgeCmd) print(s streams, p store.Plan) {
	fmt.Fprintf(s.out, "%d would be judged again\n", p.Revisions)
	for _, why := range sortedKeys(p.Why) {
		fmt.Fprintf(s.out, "%6d  %s\n", p.Why[why], map[string]string{"policy": "by another policy", "rules": "touched by a change of the rules", "until": "good no more"}[why])
	}
	if p.Revisions == 0 {
		return
	}
	fmt.Fprintf(s.out, "%6d  files in them\n%6d  from what was read before, without a fetch\n", p.Files, p.Evidence)
	from := p.FromEvidence
	if from == 0 {
		from = p.FromBytes
	}
	if from == 0 || p.FromBytes == 0 && p.Evidence < p.Revisions {
		fmt.Fprintln(s.out, "how long it takes is not known: nothing like it was judged here yet")
		return
	}
	took := time.Duration(p.Evidence*from+(p.Revisions-p.Evidence)*p.FromBytes) * time.Microsecond
	fmt.Fprintf(s.out, "about %s of one worker, by what such revisions took here\n", max(took.Round(time.Millisecond), time.Millisecond))
}

// eventsCmd prints events.
type eventsCmd struct {
	dbFlags

	After  int64  `help:"Only those with a greater number."`
	Tenant string `default:"*" help:"Only those of this tenant."`
}

// Run implements the command.
func (c *eventsCmd) Run(ctx context.Context, s streams) error {
	db, err := c.open(ctx, s, store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	return db.EventsOf(ctx, c.Tenant, c.After, -1, func(e store.Event) error { return writeJSON(s.out, e) })
}

// tokenCmd makes a token.
type tokenCmd struct {
	Tenant string   `required:"" help:"The tenant."`
	Roles  []string `default:"read,submit" enum:"read,submit,except,promote,operate" help:"What it allows."`
}

// Run implements the command.
func (c *tokenCmd) Run(s streams) error {
	var b [24]byte
	rand.Read(b[:])
	token := hex.EncodeToString(b[:])
	sum := sha256.Sum256([]byte(token))
	t := api.Token{SHA256: hex.EncodeToString(sum[:]), Tenant: c.Tenant}
	for _, r := range c.Roles {
		t.Roles = append(t.Roles, api.Role(r))
	}
	if err := t.Check(); err != nil {
		return usage(err.Error())
	}
	text, err := json.Marshal([]api.Token{t})
	if err != nil {
		return err
	}
	fmt.Fprintln(s.err, "the token, which is not kept anywhere:", token)
	fmt.Fprintf(s.out, "%s\n", text)
	return nil
}
