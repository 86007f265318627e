package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/hub/api"
	"github.com/anamnesis-go/anamnesis/hub/blob"
	"github.com/anamnesis-go/anamnesis/hub/hooks"
	"github.com/anamnesis-go/anamnesis/hub/rollout"
	"github.com/anamnesis-go/anamnesis/hub/source"
	"github.com/anamnesis-go/anamnesis/hub/store"
	"github.com/anamnesis-go/anamnesis/hub/worker"
	"github.com/anamnesis-go/anamnesis/limits"
)

// gateFlags choose the policy.
type gateFlags struct {
	Limits string `default:"server" placeholder:"FILE|PROFILE" help:"The policy: a file, or the name of a profile."`
}

func (f *gateFlags) gate() (gate.Gate, error) {
	g := gate.Gate{Version: programVersion(), Digest: true}
	if p, ok := gate.Profile(f.Limits); ok {
		g.Policy = p
		return g, nil
	}
	text, err := os.ReadFile(f.Limits)
	if errors.Is(err, os.ErrNotExist) {
		return g, usage(fmt.Sprintf("--limits %s: there is no such file, and the profiles are %s", f.Limits, strings.Join(gate.Profiles(), ", ")))
	}
	if err != nil {
		return g, err
	}
	if g.Policy, err = gate.ParsePolicy(text); err != nil {
		return g, usage("--limits " + f.Limits + ": " + err.Error())
	}
	return g, nil
}

// runCmd finds, judges and answers.
type runCmd struct {
	dbFlags
	gateFlags

	Source       []string `placeholder:"[TENANT=]PATH" help:"A folder in which repositories are, or a pattern that names them; hf://OWNER/REPO, hf://OWNER/*, s3://BUCKET/PREFIX or oci://HOST/REPO:TAG. May be given more than once."`
	AllowPrivate bool     `help:"Allow http, and private, loopback and link-local addresses."`
	Hub          string   `placeholder:"URL" help:"Another hub for hf:// (default: HF_ENDPOINT, or the Hugging Face hub)."`
	Watch        string   `placeholder:"TIME" help:"Look for new and changed repositories every so often, until the program is stopped."`
	Workers      int      `default:"0" placeholder:"N" help:"Revisions judged at once (default: one for each processor)."`
	Memory       string   `default:"2GiB" placeholder:"SIZE" help:"Maximum memory for all judgements together."`

	Attempts int    `default:"3" placeholder:"N" help:"Attempts before a revision is parked."`
	Backoff  string `default:"10s" placeholder:"TIME" help:"Wait before the second attempt; it doubles for each further one."`
	Timeout  string `default:"30m" placeholder:"TIME" help:"How long one attempt may take."`

	Listen     string `placeholder:"HOST:PORT" help:"Serve HTTP at this address until the program is stopped."`
	Tokens     string `placeholder:"FILE" help:"Tokens of clients, made with amn-hub token. Required for an address that other machines can reach."`
	TLSCert    string `name:"tls-cert" placeholder:"FILE" help:"Certificate in PEM."`
	TLSKey     string `name:"tls-key" placeholder:"FILE" help:"Its key in PEM."`
	ReceiptKey string `placeholder:"FILE" help:"Ed25519 key in PEM that signs each verdict."`
	Hooks      string `placeholder:"FILE" help:"Webhooks: receivers of events, and senders that may report changes of a source."`
	Blobs      string `placeholder:"DIR" help:"Folder for contents that arrive over HTTP (default: next to the database file)."`

	JSON  bool   `name:"json" help:"Print the verdicts as JSON, one per line."`
	Part  string `placeholder:"I/N" help:"Look only for the part I, from 0, of N parts of the repositories: for a sweep by many processes. Each judges what any of them has found."`
	Sweep bool   `help:"Exit with 0 even if something is refused or parked, for a caller that reads the verdicts from the database."`
}

// Help implements kong's help.
func (runCmd) Help() string {
	return `Without --listen and --watch the program ends when every repository is judged: with 0 if all
are accepted, with 7 if one is refused or parked. An interrupted run goes on with the same command.`
}

// parts are a part of all repositories; the zero value is all of them.
type parts struct{ i, n uint64 }

func parseParts(text string) (p parts, err error) {
	if text == "" {
		return p, nil
	}
	i, n, ok := strings.Cut(text, "/")
	if p.i, err = strconv.ParseUint(i, 10, 32); err == nil {
		p.n, err = strconv.ParseUint(n, 10, 32)
	}
	if !ok || err != nil || p.i >= p.n {
		return p, usage("--part " + text + ": a part is such as 0/10, and the last of ten is 9/10")
	}
	return p, nil
}

// has reports whether a repository is in the part.
func (p parts) has(repo string) bool {
	sum := sha256.Sum256([]byte(repo))
	return p.n == 0 || binary.BigEndian.Uint64(sum[:])%p.n == p.i
}

func duration(flag, text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, usage(fmt.Sprintf("%s %s: a time is such as 30s, 5m or 1h", flag, text))
	}
	return d, nil
}

// Run implements the command.
func (c *runCmd) Run(ctx context.Context, s streams) error {
	if len(c.Source) == 0 && c.Listen == "" {
		return usage("nothing to do: give --source, --listen, or both")
	}
	g, err := c.gate()
	if err != nil {
		return err
	}
	var o store.Options
	if o.Backoff, err = duration("--backoff", c.Backoff); err != nil {
		return err
	}
	if o.Timeout, err = duration("--timeout", c.Timeout); err != nil {
		return err
	}
	part, err := parseParts(c.Part)
	if err != nil {
		return err
	}
	memory, err := limits.ParseSize(c.Memory)
	if err != nil {
		return usage("--memory: " + err.Error())
	}
	if c.Attempts < 1 || c.Workers < 0 {
		return usage("--attempts and --workers are at least 1")
	}
	var again time.Duration
	if c.Watch != "" {
		if again, err = duration("--watch", c.Watch); err != nil {
			return err
		}
	}
	o.Attempts = c.Attempts
	db, err := c.open(ctx, s, o)
	if err != nil {
		return err
	}
	defer db.Close()
	sources := source.Sources{Remote: source.Remote{AllowPrivate: c.AllowPrivate, Hub: c.Hub}}
	r := &running{cmd: c, part: part, sources: sources, s: s, db: db, gate: g, log: slog.New(slog.NewTextHandler(s.err, nil))}
	policy := g.Policy.Limits
	policy.MaxTotalBytes, policy.Timeout = memory, limits.NoTimeout
	r.budget = policy.Budget(context.WithoutCancel(ctx))
	defer r.budget.Close()
	if r.policies, err = rollout.New(db, g, sourcesOf(), nil); err != nil {
		return err
	}
	// What another policy said, other rules, or a verdict that has ended, is not what this run says.
	if err := r.live(ctx); err != nil {
		return err
	}
	if err := r.readHooks(ctx); err != nil {
		return err
	}
	if err := r.blobs(); err != nil {
		return err
	}
	err = r.run(ctx, again)
	if ctx.Err() != nil && (c.Listen != "" || again > 0) { // it is how a service ends
		return nil
	}
	return err
}

// running is one run.
type running struct {
	cmd      *runCmd
	part     parts
	policies *rollout.Policies
	out      []hooks.Out
	in       []hooks.In
	api      *api.Server
	cert     atomic.Pointer[tls.Certificate] // nil without --tls-cert
	s        streams
	db       store.Engine
	gate     gate.Gate
	budget   *limits.Budget
	blob     *blob.Store
	at       string // of the blobs
	sources  source.Sources
	log      *slog.Logger
}

func (r *running) blobs() (err error) {
	r.at = r.cmd.Blobs
	if r.at == "" && r.cmd.Listen == "" {
		return nil
	}
	if r.at == "" {
		if strings.Contains(r.cmd.DB, "://") {
			return usage("--blobs is needed with postgres://: a folder that all workers see")
		}
		r.at = r.cmd.DB + ".blobs"
	}
	if r.at, err = filepath.Abs(r.at); err != nil {
		return err
	}
	r.blob, err = blob.Open(r.at)
	return err
}

func (r *running) run(ctx context.Context, again time.Duration) error {
	serve, err := r.listen()
	if err != nil {
		return err
	}
	program, err := worker.Program()
	if err != nil {
		return err
	}
	w := &worker.Worker{Store: r.db, Policies: r.policies, Blobs: r.blob, Sources: r.sources, Gate: r.gate, Budget: r.budget, Child: worker.Process(program, []string{"child"}, r.at, r.sources.Remote, r.budget.Policy().MaxTotalBytes), Log: r.log}
	workers := r.cmd.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if err := r.db.Start(ctx, workers, w.Work); err != nil {
		return err
	}
	stop := func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
		defer cancel()
		r.db.Stop(end)
	}
	defer stop()
	background, cancel := context.WithCancel(ctx)
	var told sync.WaitGroup
	defer told.Wait()
	defer cancel()
	if len(r.out) > 0 {
		sender := hooks.Sender{Store: r.db, Out: r.out, Log: r.log}
		told.Go(func() { sender.Run(background) })
	}
	if len(r.in) > 0 {
		told.Go(func() { r.looks(background) })
	}
	failed := make(chan error, 2)
	if serve != nil {
		go func() { failed <- serve(ctx) }()
	}
	swept := make(chan error, 1)
	go func() { swept <- r.sweep(ctx, again) }()
	stays := serve != nil || again > 0
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	tick := time.NewTicker(idle)
	defer tick.Stop()
	looked, asked, done := time.Time{}, time.Now(), false
	var missed error
	for {
		select {
		case <-ctx.Done():
			if serve != nil { // jobs and requests end at the same time
				stopped := make(chan struct{})
				go func() { defer close(stopped); stop() }()
				err := <-failed
				<-stopped
				return err
			}
			return ctx.Err()
		case <-hup:
			r.reload()
		case err := <-failed:
			return err
		case missed = <-swept:
			if missed != nil { // what was found is judged all the same
				r.log.Error("not everything could be looked at", "error", missed)
			}
			done = true
		case <-tick.C:
		}
		if time.Since(looked) > 5*time.Second {
			looked = time.Now()
			if _, _, err := r.db.Recover(ctx); err != nil {
				r.log.Error("recover", "error", err)
			}
		}
		if time.Since(asked) > time.Second { // policies, exceptions, rules and the day
			asked = time.Now()
			if err := r.live(ctx); err != nil && ctx.Err() == nil {
				r.log.Error("policies", "error", err)
			}
		}
		admitted, err := r.admit(ctx, workers)
		if err != nil {
			r.log.Error("admit", "error", err) // the database cannot be reached: continue when it is back
			tick.Reset(idle)
			continue
		}
		if tick.Reset(idle); admitted > 0 { // the workers are faster than that
			tick.Reset(busy)
		}
		if done && !stays {
			left, err := r.db.Left(ctx)
			if err != nil {
				r.log.Error("left", "error", err)
			} else if left == 0 {
				return cmp.Or(r.report(ctx), missed)
			}
		}
	}
}

// live takes what is in force now, and puts back what was judged by something else.
func (r *running) live(ctx context.Context) error {
	changed, err := r.policies.Fresh(ctx)
	if err != nil || !changed {
		return err
	}
	plan, err := r.policies.Rejudge(ctx, false)
	if plan.Revisions > 0 {
		r.log.Info("judged again", "revisions", plan.Revisions)
	}
	return err
}

// readHooks reads the file of hooks.
func (r *running) readHooks(ctx context.Context) error {
	if r.cmd.Hooks == "" {
		return nil
	}
	text, err := os.ReadFile(r.cmd.Hooks)
	if err != nil {
		return err
	}
	if r.out, r.in, err = hooks.Parse(r.budget, text, os.Getenv); err != nil {
		return usage("--hooks " + r.cmd.Hooks + ": " + err.Error())
	}
	if len(r.in) > 0 && r.cmd.Listen == "" {
		return usage("--hooks " + r.cmd.Hooks + ": what comes in needs --listen")
	}
	var list []store.Hook
	for _, o := range r.out {
		list = append(list, store.Hook{Name: o.Name, Kinds: o.Events, Tenant: o.Tenant})
	}
	return r.db.SetHooks(ctx, list)
}

// looks looks at sources in which something has changed, as messages say. Only those of this
// process's own file are looked at.
func (r *running) looks(ctx context.Context) {
	for ctx.Err() == nil {
		list, err := r.db.Looks(ctx)
		if err != nil && ctx.Err() == nil {
			r.log.Error("looks", "error", err)
		}
		for _, l := range list {
			if !slices.ContainsFunc(r.in, func(i hooks.In) bool { return i.Tenant == l.Tenant && i.Source == l.Source }) {
				continue
			}
			if err := r.find(ctx, l.Tenant, l.Source); err != nil {
				if ctx.Err() == nil {
					r.log.Error("a source that has changed could not be looked at", "source", l.Source, "error", err)
				}
				continue
			}
			if err := r.db.Looked(ctx, l); err != nil && ctx.Err() == nil {
				r.log.Error("looks", "error", err)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Second):
		}
	}
}

// ahead is how many revisions are queued for each worker: enough to keep it busy, and few enough that
// a tenant who comes later does not wait for long.
const ahead = 4

// idle and busy are how long the queue is left alone before it is filled again: when there was
// nothing to fill, and when there was.
const (
	idle = 100 * time.Millisecond
	busy = 10 * time.Millisecond
)

// admit fills the queue for all processes that take from it, as if each had as many workers as this
// one, and returns how many revisions it has put there.
func (r *running) admit(ctx context.Context, workers int) (int, error) {
	processes, err := r.db.Processes(ctx)
	if err != nil {
		return 0, err
	}
	in, err := r.db.Admitted(ctx)
	if err != nil {
		return 0, err
	}
	return r.db.Admit(ctx, ahead*workers*int(processes)-int(in))
}

// sweep looks for repositories.
func (r *running) sweep(ctx context.Context, again time.Duration) error {
	for {
		var failed []error
		for _, src := range r.cmd.Source {
			tenant, path := "local", src
			if t, p, ok := strings.Cut(src, "="); ok && t != "" && !strings.ContainsAny(t, `/\:`) {
				tenant, path = t, p
			}
			if err := r.find(ctx, tenant, path); err != nil {
				failed = append(failed, fmt.Errorf("--source %s: %w", src, err))
			}
		}
		err := errors.Join(failed...)
		if again == 0 {
			return err
		}
		if err != nil {
			r.log.Error("not everything could be looked at", "error", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(again):
		}
	}
}

// find adds the repositories of a folder in groups.
func (r *running) find(ctx context.Context, tenant, path string) error {
	var group []store.Work
	add := func() error {
		if len(group) == 0 {
			return nil
		}
		_, err := r.db.Add(ctx, group)
		group = group[:0]
		return err
	}
	err := r.sources.Find(ctx, r.budget, tenant, path, func(w store.Work) error {
		if !r.part.has(w.Repo) {
			return nil
		}
		if group = append(group, w); len(group) < 200 {
			return nil
		}
		return add()
	})
	return errors.Join(err, add())
}
