package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"github.com/anamnesis-go/anamnesis/gate"
)

// engine is a store and a queue over one database. D is River's driver for transactions T.
type engine[D riverdriver.Driver[T], T any] struct {
	o      Options
	driver D
	pg     bool
	id     string // of this process
	read   conn   // outside of transactions
	begin  func(ctx context.Context) (tx[T], error)
	shut   func()
	now    func() time.Time

	adding *river.Client[T] // which inserts jobs

	mu      sync.Mutex
	working *river.Client[T]
	beating context.CancelFunc
	beats   sync.WaitGroup
}

// tx is a transaction.
type tx[T any] struct {
	conn

	raw      T
	commit   func(context.Context) error
	rollback func(context.Context) error
}

// in runs do in a transaction, which is committed if it returns no error.
func (e *engine[D, T]) in(ctx context.Context, do func(conn) error) error {
	return e.inTx(ctx, func(t tx[T]) error { return do(t.conn) })
}

func (e *engine[D, T]) inTx(ctx context.Context, do func(tx[T]) error) error {
	t, err := e.begin(ctx)
	if err != nil {
		return err
	}
	if err := do(t); err != nil {
		return errors.Join(err, t.rollback(context.WithoutCancel(ctx)))
	}
	return t.commit(ctx)
}

// args are those of a job: its row in the backlog.
type args struct {
	Work int64 `json:"work" river:"unique"`
}

// Kind implements river.JobArgs.
func (args) Kind() string { return "judge" }

const queueName = "judge"

// open makes the tables, those of River's too.
func (e *engine[D, T]) open(ctx context.Context) error {
	e.id, e.now = processID(), time.Now
	m, err := rivermigrate.New(riverdriver.Driver[T](e.driver), &rivermigrate.Config{Logger: quiet})
	if err != nil {
		return err
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	if err := e.migrate(ctx); err != nil {
		return err
	}
	e.adding, err = river.NewClient(riverdriver.Driver[T](e.driver), &river.Config{Logger: quiet, SkipUnknownJobCheck: true})
	return err
}

var quiet = slog.New(slog.DiscardHandler)

func processID() string {
	var b [12]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// Close implements [Store].
func (e *engine[D, T]) Close() error {
	err := e.Stop(context.Background())
	e.shut()
	return err
}

func itoa(n int) string { return strconv.Itoa(n) }

func (e *engine[D, T]) ms() int64 { return e.now().UnixMilli() }

func at(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// digest returns the bytes of a digest in hex, nil for "".
func digest(text string) ([]byte, error) {
	if text == "" {
		return nil, nil
	}
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != 32 {
		return nil, fmt.Errorf("store: %q is no SHA-256", text)
	}
	return b, nil
}

var (
	packer, _   = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	unpacker, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30))
)

func pack(b []byte) []byte { return packer.EncodeAll(b, nil) }

func unpack(b []byte) ([]byte, error) { return unpacker.DecodeAll(b, nil) }

// A manifestFile is a file of a manifest as it is stored.
type manifestFile struct {
	Path   string `json:"p"`
	Size   int64  `json:"s"`
	SHA256 string `json:"h"`
}

func packManifest(files []gate.File) ([]byte, error) {
	if files == nil {
		return nil, nil
	}
	out := make([]manifestFile, len(files))
	for i, f := range files {
		out[i] = manifestFile{f.Name, f.Size, f.SHA256}
	}
	text, err := json.Marshal(out)
	return pack(text), err
}

func unpackManifest(b []byte) ([]gate.File, error) {
	if b == nil {
		return nil, nil
	}
	text, err := unpack(b)
	if err != nil {
		return nil, err
	}
	var in []manifestFile
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, err
	}
	out := make([]gate.File, len(in))
	for i, f := range in {
		out[i] = gate.File{Name: f.Path, Size: f.Size, SHA256: f.SHA256}
	}
	return out, nil
}

// Add implements [Store]. A revision that is judged, or parked, is left as it is.
func (e *engine[D, T]) Add(ctx context.Context, work []Work) (added int, err error) {
	for part := range slices.Chunk(work, 200) {
		err := e.in(ctx, func(c conn) error {
			tenants := map[string]bool{}
			values := make([]any, 0, 12*len(part))
			for _, w := range part {
				w.Cost = min(max(w.Cost, 1), maxCost)
				manifest, err := packManifest(w.Manifest)
				if err != nil {
					return err
				}
				tenants[w.Tenant] = true
				values = append(values, w.Tenant, w.Source, w.Repo, w.Revision, w.Address, manifest, w.Cost, "waiting", e.ms(), e.ms(), w.Caller, w.Request)
			}
			for t := range tenants {
				if _, err := c.exec(ctx, "INSERT INTO hub_tenant (name) VALUES ($1) ON CONFLICT (name) DO NOTHING", t); err != nil {
					return err
				}
			}
			n, err := c.exec(ctx, "INSERT INTO hub_work (tenant, source, repo, revision, address, manifest, cost, state, at, seen, caller, request) VALUES "+
				groups(len(part), 12)+" ON CONFLICT (tenant, source, repo, revision) DO NOTHING", values...)
			if err != nil {
				return err
			}
			added += int(n)
			return e.seen(ctx, c, part)
		})
		if err != nil {
			return added, err
		}
	}
	return added, nil
}

// maxCost bounds what a row costs: who has one turn in a thousand has no worse for a larger one.
const maxCost = 1 << 13

// seen notes that revisions are what their sources have now. One that was gone, and is there
// again, is judged.
func (e *engine[D, T]) seen(ctx context.Context, c conn, list []Work) error {
	for _, w := range list {
		_, err := c.exec(ctx, `UPDATE hub_work SET seen = $1, state = CASE state WHEN 'gone' THEN 'waiting' ELSE state END
			WHERE tenant = $2 AND source = $3 AND repo = $4 AND revision = $5`, e.ms(), w.Tenant, w.Source, w.Repo, w.Revision)
		if err != nil {
			return err
		}
	}
	return nil
}

// Left implements [Store].
func (e *engine[D, T]) Left(ctx context.Context) (n int64, err error) {
	err = e.read.row(ctx, fmt.Sprintf("SELECT (SELECT count(*) FROM (SELECT 1 FROM hub_work WHERE state = 'waiting' LIMIT %[1]d) a) + (SELECT count(*) FROM (SELECT 1 FROM hub_work WHERE state = 'admitted' LIMIT %[1]d) b)", maxLeft)).scan(&n)
	return n, err
}

// maxLeft bounds what is counted of each state: a backlog has millions of rows, and who asks
// wants to know whether something is left.
const maxLeft = 10_000

// Admitted implements [Store].
func (e *engine[D, T]) Admitted(ctx context.Context) (n int64, err error) {
	err = e.read.row(ctx, "SELECT count(*) FROM hub_work WHERE state = 'admitted'").scan(&n)
	return n, err
}

// Processes implements [Store].
func (e *engine[D, T]) Processes(ctx context.Context) (n int64, err error) {
	err = e.read.row(ctx, "SELECT count(*) FROM hub_process WHERE beat >= $1", e.dead()).scan(&n)
	return n, err
}

// dead is the time of a last heartbeat before which a process does not live.
func (e *engine[D, T]) dead() int64 { return e.ms() - 5*e.o.Beat.Milliseconds() }

// load returns the row of a job.
func (e *engine[D, T]) load(ctx context.Context, id int64) (w Work, err error) {
	var manifest []byte
	err = e.read.row(ctx, "SELECT id, tenant, source, repo, revision, address, manifest, cost, caller, request FROM hub_work WHERE id = $1", id).
		scan(&w.ID, &w.Tenant, &w.Source, &w.Repo, &w.Revision, &w.Address, &manifest, &w.Cost, &w.Caller, &w.Request)
	if err != nil {
		return w, err
	}
	w.Manifest, err = unpackManifest(manifest)
	return w, err
}

// worker is River's worker.
type worker[D riverdriver.Driver[T], T any] struct {
	river.WorkerDefaults[args]

	e    *engine[D, T]
	work func(context.Context, Job) error
}

type riverJob struct{}

// Work implements river.Worker.
func (w *worker[D, T]) Work(ctx context.Context, job *river.Job[args]) error {
	row, err := w.e.load(ctx, job.Args.Work)
	if err != nil {
		return err
	}
	ctx = context.WithValue(ctx, riverJob{}, job)
	err = w.work(ctx, Job{ID: job.ID, Attempt: job.Attempt, Last: job.Attempt >= job.MaxAttempts, Work: row})
	switch {
	case errors.Is(err, ErrFenced):
		w.e.o.Logf("job %d, attempt %d: %v", job.ID, job.Attempt, err)
		return nil // the job belongs to somebody else, whose end counts
	case err != nil && errors.Is(ctx.Err(), context.Canceled):
		return river.JobSnooze(0) // this process stops: it was no attempt
	}
	return err
}

// NextRetry implements river.ClientRetryPolicy.
func (e *engine[D, T]) NextRetry(job *rivertype.JobRow) time.Time {
	wait := e.o.Backoff << min(max(len(job.Errors)-1, 0), 10)
	return e.now().Add(wait)
}

// Start implements [Queue].
func (e *engine[D, T]) Start(ctx context.Context, workers int, work func(context.Context, Job) error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.working != nil {
		return errors.New("store: the queue has been started")
	}
	if err := e.beat(ctx); err != nil { // before a job can be found to be of a process that does not live
		return err
	}
	all := river.NewWorkers()
	if err := river.AddWorkerSafely(all, &worker[D, T]{e: e, work: work}); err != nil {
		return err
	}
	c, err := river.NewClient(riverdriver.Driver[T](e.driver), &river.Config{
		ID: e.id, Logger: quiet, Workers: all,
		Queues:        map[string]river.QueueConfig{queueName: {MaxWorkers: workers}},
		FetchCooldown: min(e.o.Poll, 20*time.Millisecond), FetchPollInterval: e.o.Poll,
		JobTimeout: e.o.Timeout, RescueStuckJobsAfter: e.o.Rescue, RetryPolicy: e,
	})
	if err != nil {
		return err
	}
	if err := c.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	e.working, e.beating = c, stop
	e.beats.Go(func() {
		t := time.NewTicker(e.o.Beat)
		defer t.Stop()
		for {
			select {
			case <-beating.Done():
				return
			case <-t.C:
				if err := e.beat(beating); err != nil && beating.Err() == nil {
					e.o.Logf("heartbeat: %v", err)
				}
			}
		}
	})
	return nil
}

// beat says that this process lives.
func (e *engine[D, T]) beat(ctx context.Context) error {
	return e.in(ctx, func(c conn) error {
		_, err := c.exec(ctx, "INSERT INTO hub_process (id, beat) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET beat = excluded.beat", e.id, e.ms())
		return err
	})
}

// cancelTime is how long jobs have to end that were cancelled.
const cancelTime = 1500 * time.Millisecond

// Stop implements [Queue].
func (e *engine[D, T]) Stop(ctx context.Context) error {
	e.mu.Lock()
	c, stop := e.working, e.beating
	e.working, e.beating = nil, nil
	e.mu.Unlock()
	if c == nil {
		return nil
	}
	err := c.Stop(ctx)
	if err != nil { // what does not end then is given to another process, as after a crash
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
		defer cancel()
		err = c.StopAndCancel(end)
	}
	stop()
	e.beats.Wait()
	return err
}
