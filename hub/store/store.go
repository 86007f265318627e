package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
)

// A Work is a revision of a repository that is to be judged.
type Work struct {
	ID       int64
	Tenant   string
	Source   string // where the repository was found, such as the folder of a sweep
	Repo     string
	Revision string
	Address  string      // where its files are, "" for the files of Manifest
	Manifest []gate.File // of a revision whose contents lie in the blob store
	Cost     int64       // in files and mebibytes, at least 1; what a tenant pays for its turn
	// Caller is who submitted it, and Request the request in which it came; "" for a sweep.
	Caller, Request string
}

// A Judged is what a worker found out about a revision.
type Judged struct {
	Policy, Rules, Version string
	DirHash                string // "" if a file could not be read
	Class                  string
	Accepted               bool
	Files                  []gate.File
	Contents               []Content
	Fired                  []string // rules that refused or were found
	Detail                 []byte   // the verdict's JSON
	// Evidence is what was read of contents, by their SHA-256, for those of which it is kept.
	Evidence map[string][]byte
	// Computed says that every digest was computed from the bytes. Without it Domain is who states
	// them, and Claimed for how many of the files: what is known by a claim is known of that
	// source alone, since another content may have the digest.
	Computed bool
	Domain   string
	Claimed  int64
	// Until is the last day on which the verdict is valid, such as "2026-12-31": that of an
	// exception of the policy; "" for no end.
	Until string

	// Facts are what rules of a later program could read of the files, such as "format:gguf";
	// without any, every rule could.
	Facts []string
	// How says from what it was judged: "bytes", "evidence", or "known" from the same files of
	// another revision. Took is how long that was.
	How  string
	Took time.Duration
	// Mode is that of the tenant's policy: [Enforce], or [Report].
	Mode string
	// Generation is that of the policies by which it was judged; 0 if they do not change.
	Generation int64
}

// Good reports whether a verdict is that of a policy and its rules, on a day.
func (v *Judged) Good(policy, rules, today string) bool {
	return v.Policy == policy && v.Rules == rules && (v.Until == "" || today != "" && today <= v.Until)
}

// Current reports whether a verdict is valid and was not taken back: by these rules, or by older ones
// that no change since touches.
func (v *Verdict) Current(policy string, rules map[string]bool, today string) bool {
	return !v.Stale && rules[v.Rules] && v.Good(policy, v.Rules, today)
}

// A Content is what was found out about one file of a revision, beside the others.
type Content struct {
	SHA256 string
	Name   string // of the file, without its folders
	Size   int64
	Format string
	Class  string
}

// A Job is one attempt at a Work.
type Job struct {
	ID      int64
	Attempt int
	Last    bool // there is none after it
	Work    Work
}

// A Verdict is what is known of a revision.
type Verdict struct {
	Work
	Judged

	Epoch int64 // how many times it was judged
	At    time.Time
	Stale bool // it is to be judged again, and says nothing until then
}

// A Parked row waits for a person.
type Parked struct {
	Work

	Reason  string
	Attempt int
	At      time.Time
}

// A Standing counts one tenant's work: how much waits, and how what was judged ended.
type Standing struct {
	Tenant                            string
	Waiting, Admitted, Parked, Judged int64
	Accepted, Refused                 int64
}

// An Event is a decision, or another thing that an operator asks about later.
type Event struct {
	ID       int64     `json:"id"`
	At       time.Time `json:"at"`
	Kind     string    `json:"kind"` // judged, quarantine, release, parked, gone, retried, policy, exception, erased
	Tenant   string    `json:"tenant"`
	Repo     string    `json:"repo"`
	Revision string    `json:"revision"`
	DirHash  string    `json:"dir_hash,omitempty"`
	Policy   string    `json:"policy,omitempty"`
	Rules    string    `json:"rules,omitempty"`
	Class    string    `json:"class,omitempty"`
	Mode     string    `json:"mode,omitempty"` // report: nothing is refused for it
	Caller   string    `json:"caller,omitempty"`
	Request  string    `json:"request,omitempty"`
	Text     string    `json:"text,omitempty"`
}

// A Repo is a revision as a list has it. Class is "" while it has no verdict.
type Repo struct {
	Tenant, Source, Repo, Revision, State, Class string
	Accepted, Stale                              bool
	Seen                                         time.Time
}

// A Rate is how many events of a kind and a class there were.
type Rate struct {
	Kind, Class string
	N           int64
}

// A Store keeps work and verdicts. It is safe for concurrent use.
type Store interface {
	// Add adds revisions to the backlog, and returns how many were not there, or judged,
	// already.
	Add(ctx context.Context, list []Work) (int, error)
	// Admit hands at most room rows of the backlog to the queue, in turns of the tenants, and
	// returns how many.
	Admit(ctx context.Context, room int) (int, error)
	// Recover gives back the jobs of workers that died, and parks rows that no attempt is left
	// for. It returns how many of each.
	Recover(ctx context.Context) (again, parked int, err error)
	// Left is how many rows wait or have been handed to the queue, of each at most 10,000, and
	// Admitted how many have been handed to it.
	Left(ctx context.Context) (int64, error)
	Admitted(ctx context.Context) (int64, error)
	// Processes is how many processes live that take from the queue.
	Processes(ctx context.Context) (int64, error)

	// Finish puts the verdicts of a job, and ends it. ErrFenced: the job is no longer that
	// worker's.
	Finish(ctx context.Context, j Job, v Judged) error
	// Park ends a job without a verdict.
	Park(ctx context.Context, j Job, reason string) error

	// Files lists the files that a row of the backlog had when it was judged last, and Evidence
	// returns what was read of contents, for those of which it is kept: by digests that were
	// computed, or that the domain states.
	Files(ctx context.Context, work int64) ([]gate.File, error)
	Evidence(ctx context.Context, domain string, sha256 []string) (map[string][]byte, error)

	// Folder returns the verdict about the same files under a policy and its rules.
	Folder(ctx context.Context, dirHash, policy, rules string) (Judged, bool, error)
	// Replace ends a job whose files are those of another revision by now, which is added. The
	// old one is gone: nothing is known of it, and nobody can look at it.
	Replace(ctx context.Context, j Job, by Work) error
	// Revision returns the verdict about a revision; for "", the one that was seen last. If
	// several sources have a repository of the name, a refusal counts.
	Revision(ctx context.Context, tenant, repo, revision string) (Verdict, bool, error)
	// Revisions lists the verdicts about the newest revision of each repository of a tenant, or
	// of all tenants for "".
	Revisions(ctx context.Context, tenant string, visit func(Verdict) error) error
	// Content returns as what a content was judged in the revisions of a tenant, by a policy and
	// its rules: each format and class once.
	// Older rules count for what is in a revision that no change since touches.
	Content(ctx context.Context, tenant, sha256, policy, rules string, older ...string) ([]Content, error)

	// Show notes that a tenant has shown a content of some size, or that anyone may have it
	// for the tenant Public. Shown returns which of the contents a tenant may ask about.
	Show(ctx context.Context, tenant, sha256 string, size int64) error
	Shown(ctx context.Context, tenant string, sha256 []string) (map[string]bool, error)
	// Stored is how many bytes a tenant has shown.
	Stored(ctx context.Context, tenant string) (int64, error)

	// Rejudge puts every revision of a tenant (of all, for "*") back into the backlog whose verdict
	// is by another policy, or by rules that have changed since in what they read of it, or good no
	// more today, or counts them.
	Rejudge(ctx context.Context, tenant, policy, rules, today string, dry bool) (Plan, error)
	// Parked lists parked rows. Retry puts one back into the backlog, or all for 0.
	Parked(ctx context.Context) ([]Parked, error)
	Retry(ctx context.Context, id int64) (int64, error)
	Standing(ctx context.Context) ([]Standing, error)
	// Weigh sets how much of the work a tenant is given compared with others, whose weight is 1.
	Weigh(ctx context.Context, tenant string, weight int) error
	Events(ctx context.Context, after int64, visit func(Event) error) error
	// EventsOf are those of a tenant, or of all for "*", at most max.
	EventsOf(ctx context.Context, tenant string, after int64, max int, visit func(Event) error) error
	// Repos lists repositories of a tenant, or of all for "*", as they stand: those whose name begins
	// with a text, or holds it for a text of three characters or more, the last found first.
	Repos(ctx context.Context, tenant, text string, max int) ([]Repo, error)
	// ByRule counts the revisions of a tenant, or of all for "*", in which a rule fired, the most first.
	ByRule(ctx context.Context, tenant string, max int) ([]Rate, error)
	// Rates count the events since a time.
	Rates(ctx context.Context, since time.Time) ([]Rate, error)

	Policies
	Changes
	Hooks
	Keeper

	Close() error
}

// A Queue gives jobs to workers.
type Queue interface {
	// Start begins to call work for admitted jobs, at most workers at once. An error of work is
	// another attempt, later.
	Start(ctx context.Context, workers int, work func(context.Context, Job) error) error
	// Stop waits for the jobs that have begun until ctx ends, then cancels them.
	Stop(ctx context.Context) error
}

// An Engine is both: they share their transactions.
type Engine interface {
	Store
	Queue
}

// Public is the tenant of contents that anybody can have from their source.
const Public = ""

// ErrFenced means that a job was given to another worker, or ended, while this one worked.
var ErrFenced = errors.New("store: this attempt no longer has the job")

// Options configure an engine.
type Options struct {
	// Attempts is how often a revision is tried; default 3.
	Attempts int
	// Timeout bounds one attempt; default 30 min. Rescue is after how long an attempt is taken
	// for lost though its process lives; default Timeout and 15 min.
	Timeout, Rescue time.Duration
	// Backoff is how long the second attempt waits; each further one twice as long. Default 10 s.
	Backoff time.Duration
	// Beat is how often a process says that it lives; after five of them without, its jobs are
	// given to others. Default 5 s.
	Beat time.Duration
	// Poll is how often the queue is asked for jobs; default 200 ms.
	Poll time.Duration
	// Wait is how long Open tries while the database is away; default 0.
	Wait time.Duration
	// Logf is told what goes on without a caller; default nobody.
	Logf func(format string, args ...any)
}

func (o Options) filled() Options {
	set(&o.Attempts, 3)
	set(&o.Timeout, 30*time.Minute)
	set(&o.Rescue, o.Timeout+15*time.Minute)
	set(&o.Backoff, 10*time.Second)
	set(&o.Beat, 5*time.Second)
	set(&o.Poll, 200*time.Millisecond)
	if o.Logf == nil {
		o.Logf = func(string, ...any) {}
	}
	return o
}

func set[T comparable](to *T, or T) {
	var zero T
	if *to == zero {
		*to = or
	}
}

// Open opens a store: a path of a file, or an address that begins with postgres://. It makes the
// tables that are missing, and refuses a database that a newer program made.
func Open(ctx context.Context, where string, o Options) (Engine, error) {
	o = o.filled()
	if strings.HasPrefix(where, "postgres://") || strings.HasPrefix(where, "postgresql://") {
		return openPostgres(ctx, where, o)
	}
	if strings.Contains(where, "://") {
		return nil, fmt.Errorf("store: %q is neither a file nor postgres://", where)
	}
	return openSQLite(ctx, where, o)
}
