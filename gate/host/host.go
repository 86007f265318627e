package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/spool"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Options bound what a host may spend. The zero value suits a machine with a few
// processors and some gigabytes.
type Options struct {
	// Gate judges, and digests each file. Its policy's limits are those of one file.
	Gate gate.Gate
	// Today, if set, returns the date on which a file is judged, which replaces Gate.Today:
	// a host that runs for months applies no expired exception.
	Today func() string
	// Judge, if set, replaces Gate.Check, for example to judge in another process. Then
	// this process does not examine the file, not even while it arrives. A judgement that
	// takes its turns by [TurnOf] gives its slot to other tenants, as one in this process does.
	Judge func(ctx context.Context, g *gate.Gate, r io.ReaderAt, size int64, h gate.Hint) (*gate.Verdict, error)
	// JudgeFolder is Judge for an upload of several files; without it, such an upload is not
	// judged if Judge is set.
	JudgeFolder FolderJudge
	// Tenant returns the limits for a tenant's files if they differ from the gate's.
	Tenant func(name string) limits.Policy

	MaxFile    int64 // bytes of one file; default 16 GiB
	MaxSpool   int64 // bytes of all spooled files; default 4 x MaxFile
	MaxUploads int   // open uploads; default 256
	PerTenant  int   // open uploads of one tenant; default MaxUploads/2
	Slots      int   // files judged at once; default GOMAXPROCS
	Queue      int   // files waiting for a slot; default 128
	// TenantQueue bounds how many files of one tenant wait for a slot; default Queue/2.
	TenantQueue int
	// TenantSpool bounds the bytes of one tenant's spooled files; default MaxSpool/2, or MaxFile
	// if that is more.
	TenantSpool int64
	// Memory bounds what all judgements and small files hold together, in bytes; default
	// 2 GiB. TenantMemory is the bound for one tenant; default Memory/2, or what the policy
	// lets one file hold if that is more.
	Memory, TenantMemory int64
	// Dir is where larger files are spooled; default the system's temporary folder.
	Dir string
	// RetryAfter is sent to clients if the host is busy; default 1 s.
	RetryAfter time.Duration
}

// fill sets the defaults.
func (o *Options) fill() error {
	for name, n := range map[string]int64{
		"MaxFile": o.MaxFile, "MaxSpool": o.MaxSpool, "MaxUploads": int64(o.MaxUploads), "PerTenant": int64(o.PerTenant), "Slots": int64(o.Slots),
		"Queue": int64(o.Queue), "TenantQueue": int64(o.TenantQueue), "TenantSpool": o.TenantSpool, "Memory": o.Memory, "TenantMemory": o.TenantMemory, "RetryAfter": int64(o.RetryAfter),
	} {
		if n < 0 {
			return fmt.Errorf("host: %s is %d", name, n)
		}
	}
	unset(&o.MaxFile, 16<<30)
	unset(&o.MaxSpool, 4*o.MaxFile)
	unset(&o.MaxUploads, 256)
	unset(&o.PerTenant, max(1, o.MaxUploads/2))
	unset(&o.Slots, runtime.GOMAXPROCS(0))
	unset(&o.Queue, 128)
	unset(&o.TenantQueue, max(1, o.Queue/2))
	unset(&o.TenantSpool, max(o.MaxSpool/2, min(o.MaxFile, o.MaxSpool)))
	unset(&o.Memory, 2<<30)
	unset(&o.RetryAfter, time.Second)
	if err := o.Gate.Policy.Limits.Validate(); err != nil {
		return err
	}
	unset(&o.TenantMemory, max(o.Memory/2, min(o.Gate.Policy.Limits.Limit(limits.Total), o.Memory)))
	return nil
}

func unset[T int | int64 | time.Duration](v *T, to T) {
	if *v == 0 {
		*v = to
	}
}

// A Host judges uploads of many tenants.
type Host struct {
	o       Options
	account *limits.Budget
	queue   queue
	create  func(dir string) (spoolFile, error)

	mu      sync.Mutex // for what follows, and for o.Gate
	tenants map[string]*tenant
	uploads int
	spooled int64
	closed  bool
	idle    *sync.Cond
}

// A program may hold a nil or zero value because it ignored an error. A nil or zero host, upload,
// scratch or turn takes nothing and accepts nothing.
var (
	errNoHost   = errors.New("host: there is no host; New makes one")
	errNoUpload = errors.New("host: there is no upload; Host.Begin makes one")
	errNoReader = errors.New("host: there is no reader")
	errNoTurn   = errors.New("host: there is no turn of a judgement")
)

func (h *Host) exists() bool { return h != nil && h.idle != nil }

// A tenant has an account as long as it has uploads.
type tenant struct {
	account *limits.Budget
	uploads int
	spooled int64
	lane    lane
}

// A spoolFile is a [spool.File], or one of a test.
type spoolFile interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

func createSpool(dir string) (spoolFile, error) {
	f, err := spool.Create(dir)
	if err != nil {
		return nil, err // not f, since an interface with a nil pointer is not nil
	}
	return f, nil
}

// most disables a limit of the host's account that the tenants' accounts enforce.
const most = 1 << 40

// New returns a host; close it when the server has stopped.
func New(o Options) (*Host, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	g, err := o.Gate.WithDigest()
	if err != nil {
		return nil, err
	}
	o.Gate = *g
	h := &Host{o: o, tenants: map[string]*tenant{}, create: createSpool}
	h.queue.slots, h.queue.most, h.queue.share = o.Slots, o.Queue, o.TenantQueue
	h.queue.yields, h.queue.after = o.Judge == nil, o.RetryAfter
	h.idle = sync.NewCond(&h.mu)
	h.account = limits.Policy{
		MaxTotalBytes: o.Memory, MaxItems: most, MaxOpenFiles: most, MaxRequests: most, MaxFetched: most, Timeout: limits.NoTimeout,
	}.Budget(context.Background())
	return h, nil
}

// Drain refuses new uploads and files that wait to be judged, as [Busy]. Judgements that
// have begun go on.
func (h *Host) Drain() {
	if !h.exists() {
		return
	}
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.queue.close()
}

// Close is [Host.Drain]; it waits for the open uploads, and releases what the host holds.
func (h *Host) Close() {
	if !h.exists() {
		return
	}
	h.Drain()
	h.mu.Lock()
	for h.uploads > 0 {
		h.idle.Wait()
	}
	h.mu.Unlock()
	h.account.Close()
}

// Options returns the options with the defaults filled in.
func (h *Host) Options() Options {
	if !h.exists() {
		return Options{}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.o
}

// SetGate sets the gate for uploads that begin later. An error means that its limits are
// invalid; then the old one stays.
func (h *Host) SetGate(g gate.Gate) error {
	if !h.exists() {
		return errNoHost
	}
	if err := g.Policy.Limits.Validate(); err != nil {
		return err
	}
	with, err := g.WithDigest()
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.o.Gate = *with
	return nil
}

// A Load says how much a host holds at the moment.
type Load struct {
	Uploads, Waiting, Judging, Tenants int
	Spooled, Memory                    int64
}

// Ready returns nil if a file of a tenant without other files would be admitted and judged now,
// else [Busy].
func (h *Host) Ready() error {
	if !h.exists() {
		return errNoHost
	}
	l := h.Load()
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return h.busy(false, closing)
	case l.Uploads >= h.o.MaxUploads:
		return h.busy(false, fmt.Sprintf("%d uploads are open", l.Uploads))
	case l.Waiting >= h.o.Queue:
		return h.busy(false, fmt.Sprintf("%d files wait to be judged", l.Waiting))
	case l.Spooled >= h.o.MaxSpool:
		return h.busy(false, "the spool is full")
	case l.Memory >= h.o.Memory:
		return h.busy(false, noMemory)
	}
	return nil
}

// noMemory is the reason of [Busy] if the memory is used up.
const noMemory = "the memory for judgements is taken"

// Load returns how busy the host is.
func (h *Host) Load() Load {
	if !h.exists() {
		return Load{}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	l := Load{Uploads: h.uploads, Tenants: len(h.tenants), Spooled: h.spooled}
	h.queue.mu.Lock()
	l.Waiting, l.Judging = h.queue.waiting, h.queue.running
	h.queue.mu.Unlock()
	for _, u := range h.account.Usage() {
		if u.Axis == limits.Total {
			l.Memory = u.Used
		}
	}
	return l
}

// Busy means that there is no room now, and that the client should retry later.
type Busy struct {
	// Tenant says that the tenant's own uploads take the room; otherwise the host's.
	Tenant bool
	What   string
	After  time.Duration
}

func (b *Busy) Error() string {
	if b == nil {
		return "busy"
	}
	return "busy: " + b.What
}

func (h *Host) busy(tenant bool, what string) *Busy { return &Busy{tenant, what, h.o.RetryAfter} }

// Begin admits an upload of a tenant, or returns [Busy].
func (h *Host) Begin(name string) (*Upload, error) {
	if !h.exists() {
		return nil, errNoHost
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.tenants[name]
	switch {
	case h.closed:
		return nil, h.busy(false, closing)
	case t != nil && t.uploads >= h.o.PerTenant:
		return nil, h.busy(true, fmt.Sprintf("%d uploads of this tenant are open", t.uploads))
	case h.uploads >= h.o.MaxUploads:
		return nil, h.busy(false, fmt.Sprintf("%d uploads are open", h.uploads))
	}
	own := h.o.Gate
	if h.o.Tenant != nil {
		own.Policy.Limits = h.o.Tenant(name)
		g, err := own.WithDigest()
		if err != nil {
			return nil, err
		}
		own = *g
	}
	if t == nil {
		t = &tenant{account: h.account.Child(limits.Policy{MaxTotalBytes: h.o.TenantMemory, MaxItems: most, MaxOpenFiles: most, MaxRequests: most, MaxFetched: most, Timeout: limits.NoTimeout})}
		h.tenants[name] = t
	}
	t.uploads++
	h.uploads++
	u := &Upload{host: h, tenant: t, name: name, gate: own}
	if h.o.Today != nil {
		u.gate.Today = h.o.Today()
	}
	return u, nil
}

// begin counts an upload that belongs to an admitted one.
func (h *Host) begin(t *tenant) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t.uploads++
	h.uploads++
}

// end removes an upload.
func (h *Host) end(u *Upload) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.uploads--
	if u.tenant.uploads--; u.tenant.uploads == 0 {
		u.tenant.account.Close()
		delete(h.tenants, u.name)
	}
	h.idle.Broadcast()
}

// room reserves n bytes of spool.
func (h *Host) room(t *tenant, n int64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case n > h.o.TenantSpool-t.spooled:
		return h.busy(true, "this tenant's part of the spool is full")
	case n > h.o.MaxSpool-h.spooled:
		return h.busy(false, "the spool is full")
	}
	h.spooled += n
	t.spooled += n
	return nil
}

func (h *Host) leave(t *tenant, n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spooled -= n
	t.spooled -= n
}
