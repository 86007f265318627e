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
	"github.com/anamnesis-go/anamnesis/hub/store"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// today is the day by which verdicts are good.
func today() string { return time.Now().UTC().Format(time.DateOnly) }

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
		if !v.Good(r.policy, gate.RulesDigest(r.gate.Version), today()) {
			old++ // it could not be judged again
			return nil
		}
		if v.Accepted {
			accepted++
		} else {
			refused++
		}
		if r.cmd.JSON {
			return writeJSON(r.s.out, entry(v))
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
	if refused+len(parked)+old > 0 {
		return refusedError(fmt.Sprintf("%d of %d repositories are not accepted", refused+len(parked)+old, accepted+refused+len(parked)+old))
	}
	return nil
}

// entry is a verdict as JSON.
func entry(v store.Verdict) map[string]any {
	return map[string]any{
		"schema": "amn.revision/1", "tenant": v.Tenant, "source": v.Source, "repo": v.Repo, "revision": v.Work.Revision, "judged": v.At, "epoch": v.Epoch,
		"dir_hash": v.DirHash, "class": v.Class, "accepted": v.Accepted, "claimed": v.Claimed, "policy": v.Policy, "rules": v.Rules, "verdict": json.RawMessage(v.Detail),
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
	policy, err := g.Policy.Digest()
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
	if err := writeJSON(s.out, entry(v)); err != nil {
		return err
	}
	if !v.Good(policy, gate.RulesDigest(g.Version), today()) {
		return fmt.Errorf("the verdict about %s is by another policy, by other rules, or good no more: amn-hub run judges it again", c.Repo)
	}
	if !v.Accepted {
		return refusedError(c.Repo + " is refused")
	}
	return nil
}

// statusCmd prints how the work stands.
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
	policy, err := g.Policy.Digest()
	if err != nil {
		return err
	}
	db, err := c.open(ctx, s, store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	n, err := db.Rejudge(ctx, policy, gate.RulesDigest(g.Version), today(), c.DryRun)
	if err != nil {
		return err
	}
	what := "put back: amn-hub run judges them"
	if c.DryRun {
		what = "would be judged again"
	}
	fmt.Fprintf(s.out, "%d %s\n", n, what)
	return nil
}

// eventsCmd prints events.
type eventsCmd struct {
	dbFlags

	After int64 `help:"Only those with a greater number."`
}

// Run implements the command.
func (c *eventsCmd) Run(ctx context.Context, s streams) error {
	db, err := c.open(ctx, s, store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	return db.Events(ctx, c.After, func(e store.Event) error { return writeJSON(s.out, e) })
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
