package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/receipt"
	"github.com/anamnesis-go/anamnesis/hub/api"
	"github.com/anamnesis-go/anamnesis/hub/blob"
	"github.com/anamnesis-go/anamnesis/hub/source"
	"github.com/anamnesis-go/anamnesis/hub/store"
	"github.com/anamnesis-go/anamnesis/hub/worker"
	"github.com/anamnesis-go/anamnesis/limits"
)

// gateFlags say by what is judged.
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
	Watch        string   `placeholder:"TIME" help:"Look again for new and changed repositories after this time, and do not end."`
	Workers      int      `default:"0" placeholder:"N" help:"Revisions judged at once (default: one for each processor)."`
	Memory       string   `default:"2GiB" placeholder:"SIZE" help:"What all judgements together may hold."`

	Attempts int    `default:"3" placeholder:"N" help:"Attempts before a revision is parked."`
	Backoff  string `default:"10s" placeholder:"TIME" help:"How long the second attempt waits; each further one waits twice as long."`
	Timeout  string `default:"30m" placeholder:"TIME" help:"How long one attempt may take."`

	Listen     string `placeholder:"HOST:PORT" help:"Answer over HTTP; implies that the program does not end."`
	Tokens     string `placeholder:"FILE" help:"Who may ask: a list of tokens, made with amn-hub token. Needed for an address that other machines reach."`
	TLSCert    string `name:"tls-cert" placeholder:"FILE" help:"Certificate in PEM."`
	TLSKey     string `name:"tls-key" placeholder:"FILE" help:"Its key in PEM."`
	ReceiptKey string `placeholder:"FILE" help:"Ed25519 key in PEM that signs each verdict."`
	Blobs      string `placeholder:"DIR" help:"Where contents are kept that come over HTTP (default: beside the database file)."`

	JSON bool `name:"json" help:"Print the verdicts as JSON, one per line."`
}

// Help implements kong's help.
func (runCmd) Help() string {
	return `Without --listen and --watch the program ends when every repository is judged: with 0 if all
are accepted, with 7 if one is refused or parked. An interrupted run goes on with the same command.`
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
	r := &running{cmd: c, sources: sources, s: s, db: db, gate: g, log: slog.New(slog.NewTextHandler(s.err, nil))}
	policy := g.Policy.Limits
	policy.MaxTotalBytes, policy.Timeout = memory, limits.NoTimeout
	r.budget = policy.Budget(context.WithoutCancel(ctx))
	defer r.budget.Close()
	if r.policy, err = g.Policy.Digest(); err != nil {
		return err
	}
	// What another policy said, or one that has ended, is not what this run says.
	if n, err := db.Rejudge(ctx, r.policy, gate.RulesDigest(g.Version), today(), false); err != nil {
		return err
	} else if n > 0 {
		r.log.Info("judged again", "revisions", n)
	}
	if err := r.blobs(); err != nil {
		return err
	}
	return r.run(ctx, again)
}

// running is one run.
type running struct {
	cmd     *runCmd
	policy  string // its digest
	api     *api.Server
	s       streams
	db      store.Engine
	gate    gate.Gate
	budget  *limits.Budget
	blob    *blob.Store
	at      string // of the blobs
	sources source.Sources
	log     *slog.Logger
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
	w := &worker.Worker{Store: r.db, Blobs: r.blob, Sources: r.sources, Gate: r.gate, Budget: r.budget, Child: worker.Process(program, []string{"child"}, r.at, r.sources.Remote), Log: r.log}
	workers := r.cmd.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if err := r.db.Start(ctx, workers, w.Work); err != nil {
		return err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		r.db.Stop(end)
	}()
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
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	looked, done := time.Time{}, false
	var missed error
	for {
		select {
		case <-ctx.Done():
			if serve != nil {
				return <-failed
			}
			if stays { // it is how a service ends
				return nil
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
		if err := r.admit(ctx, workers); err != nil {
			r.log.Error("admit", "error", err) // the database is away: go on when it is back
			continue
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

// ahead is how many revisions a worker has waiting, so that it never waits itself and a tenant
// who comes later does not wait for long.
const ahead = 4

func (r *running) admit(ctx context.Context, workers int) error {
	standing, err := r.db.Admitted(ctx)
	if err != nil {
		return err
	}
	_, err = r.db.Admit(ctx, ahead*workers-int(standing))
	return err
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
		if group = append(group, w); len(group) < 200 {
			return nil
		}
		return add()
	})
	return errors.Join(err, add())
}

// listen opens the address, and returns what serves it, or nil.
func (r *running) listen() (func(context.Context) error, error) {
	c := r.cmd
	if c.Listen == "" {
		return nil, nil
	}
	o := api.Options{Store: r.db, Blobs: r.blob, Gate: r.gate, Budget: r.budget, Log: r.log}
	var err error
	if c.Tokens != "" {
		text, err := os.ReadFile(c.Tokens)
		if err != nil {
			return nil, err
		}
		if o.Tokens, err = api.ParseTokens(r.budget, text); err != nil {
			return nil, usage("--tokens " + c.Tokens + ": " + err.Error())
		}
	}
	if c.ReceiptKey != "" {
		pem, err := os.ReadFile(c.ReceiptKey)
		if err != nil {
			return nil, err
		}
		if o.Receipts, err = receipt.NewSigner(pem, 10*time.Minute, time.Now); err != nil {
			return nil, usage("--receipt-key " + c.ReceiptKey + ": " + err.Error())
		}
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return nil, usage("--tls-cert and --tls-key need each other")
	}
	if !isLoopback(c.Listen) && (c.Tokens == "" || c.TLSCert == "") {
		return nil, usage(c.Listen + " can be reached by other machines: give --tokens, --tls-cert and --tls-key")
	}
	h, err := api.New(o)
	if err != nil {
		return nil, err
	}
	r.api = h
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, WriteTimeout: 5 * time.Hour, MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(r.log.Handler(), slog.LevelWarn)}
	if c.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
		if err != nil {
			l.Close()
			return nil, err
		}
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	r.log.Info("listening", "address", l.Addr().String())
	return func(ctx context.Context) error {
		serving := make(chan error, 1)
		go func() {
			if server.TLSConfig != nil {
				serving <- server.ServeTLS(l, "", "")
			} else {
				serving <- server.Serve(l)
			}
		}()
		select {
		case err := <-serving:
			return err
		case <-ctx.Done(): // what has begun may end
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
			defer cancel()
			server.Shutdown(end)
			return nil
		}
	}, nil
}

// drainTime is how long requests go on that have begun when the program is to end.
const drainTime = 8 * time.Second

// reload reads the tokens again. If they cannot be read, the old ones stay.
func (r *running) reload() {
	if r.api == nil || r.cmd.Tokens == "" {
		return
	}
	text, err := os.ReadFile(r.cmd.Tokens)
	var tokens map[string]api.Token
	if err == nil {
		tokens, err = api.ParseTokens(r.budget, text)
	}
	if err != nil {
		r.log.Error("not reloaded: the old tokens stay", "error", err)
		return
	}
	r.api.SetTokens(tokens)
	r.log.Info("reloaded", "tokens", len(tokens))
}

// isLoopback reports whether only this machine reaches an address.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
