package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/folder"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// An Upload is one file of a tenant, or a folder of files: admitted, spooled, judged, closed.
type Upload struct {
	// Name is the name of the file, without a folder; Promised the format that the sender
	// stated. Both may be empty.
	Name, Promised string
	// Beside says that the file need not be a model: see [gate.Hint].
	Beside bool
	Size   int64 // of all files
	// Started, if set, is called when [Upload.Judge] has waited for its slot.
	Started func()
	// Verdict is nil before [Upload.Judge]. A host must act on [Upload.Acceptance].
	Verdict *gate.Verdict

	host   *Host
	tenant *tenant
	name   string // of the tenant
	gate   gate.Gate
	field  bool // it is a value of a form: see [gate.Hint]

	at      io.ReaderAt
	files   []File         // of a folder
	names   folder.Names   // of files
	listed  *limits.Budget // holds the list of files
	lacks   error          // why a file of the folder could not be added
	sum     hash.Hash      // of the bytes of the last file that arrived
	file    spoolFile
	early   *gate.Stream   // examines the file while it arrives
	visit   *turn          // the turn in which early works
	lost    error          // why early got no turn
	taken   int64          // bytes reserved in the host's spool
	memory  *limits.Budget // holds a small file, or the beginning of a larger one
	account *limits.Budget // holds the judgement
	end     func()         // ends the context of the judgement
	closed  bool
}

// An Event describes a finished upload, for counting and logging.
type Event struct {
	Tenant, Name string
	Size         int64
	// Status is the answer to an HTTP client, 200 if the file was accepted.
	Status int
	Class  wire.Class
	Rules  []string      // the rules that refused the file
	Spool  time.Duration // how long the file took to arrive
	Judge  time.Duration // how long judging took, with the wait for a slot
}

// TooLarge means that the file has more bytes than the host takes.
type TooLarge struct{ Max int64 }

func (e *TooLarge) Error() string {
	if e == nil {
		return "the file is too large"
	}
	return "the file has more than " + limits.FormatSize(e.Max)
}

var (
	errOneFile = errors.New("host: an upload has one file")
	errNoName  = errors.New("host: a field has a name")
	errClosed  = errors.New("host: the upload is closed")
)

func (u *Upload) exists() bool { return u != nil && u.host != nil }

// Field begins an upload for a text that belongs to this one, such as a field of its form. It has the
// same tenant, is judged under the same policy, as a file of a folder, and does not count towards the
// tenant's limit of uploads. isValue says that no loader finds the text by this name: it is no file, but
// a value that a program takes from the form. Close it before this one.
func (u *Upload) Field(name string, isValue bool) (*Upload, error) {
	switch {
	case !u.exists():
		return nil, errNoUpload
	case u.closed:
		return nil, errClosed
	case name == "":
		return nil, errNoName
	}
	u.host.begin(u.tenant)
	return &Upload{Name: name, Beside: true, field: isValue, host: u.host, tenant: u.tenant, name: u.name, gate: u.gate}, nil
}

// Judge waits for a slot and asks the gate. An error says nothing about the file: it is
// [Busy], or the context ended. Only the time in which the file is judged counts towards the
// policy's; waiting for a turn does not.
func (u *Upload) Judge(ctx context.Context) (*gate.Verdict, error) {
	if !u.exists() {
		return nil, errNoUpload
	}
	if u.closed {
		return nil, errClosed
	}
	if v := u.refusedEarly(); v != nil && u.Verdict == nil {
		if v.Class() == wire.Internal {
			return nil, notJudged(v.Err)
		}
		u.Verdict = v
		return v, nil
	}
	if u.lacks != nil {
		return nil, notJudged(u.lacks)
	}
	u.judgeable()
	if u.at == nil || u.Verdict != nil {
		return nil, errors.New("host: an upload is spooled, then judged once")
	}
	t, err := u.host.queue.enter(ctx, &u.tenant.lane, true)
	if err != nil {
		return nil, err
	}
	defer t.leave()
	if u.Started != nil {
		u.Started()
	}
	v, err := u.check(ctx, t)
	if err == nil && v == nil {
		err = notJudged(errors.New("there is no verdict"))
	}
	if err != nil {
		return nil, err
	}
	if busy, ok := errors.AsType[*Busy](u.refused(v.Err)); ok {
		v.Close()
		return nil, busy
	}
	if v.Class() == wire.Internal {
		err := v.Err
		v.Close()
		return nil, notJudged(err)
	}
	u.Verdict = v
	return v, nil
}

func notJudged(err error) error { return fmt.Errorf("host: the file could not be judged: %w", err) }

// check asks the gate in a turn, whose clock ends the judgement. A panic is an error of this upload
// only, because not every caller recovers from panics.
func (u *Upload) check(ctx context.Context, t *turn) (v *gate.Verdict, err error) {
	defer func() {
		if p := recover(); p != nil {
			v, err = nil, notJudged(fmt.Errorf("panic: %s", wire.Clean(fmt.Sprint(p), 512)))
		}
	}()
	policy := u.gate.Policy.Limits
	allowed := policy.Limit(limits.Time)
	policy.Timeout = limits.NoTimeout
	ctx, end := context.WithCancelCause(ctx)
	u.end = func() { end(nil) }
	t.ctx = ctx
	if allowed != int64(limits.NoTimeout) {
		t.clock.start(time.Duration(allowed), func() { end(&limits.Error{Axis: limits.Time, Want: allowed, Left: allowed}) })
	}
	u.account = u.tenant.account.ChildContext(ctx, policy)
	v, err = u.ask(t)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, limits.ErrLimit) {
		return u.gate.Failed(u.Name, cause), nil
	}
	return v, err
}

// ask judges the file: by the gate, or in another process, whose price is its time.
func (u *Upload) ask(t *turn) (*gate.Verdict, error) {
	if u.isFolder() {
		return u.askFolder(t)
	}
	h := u.hint()
	judge := u.host.o.Judge
	if judge != nil && u.sum == nil { // this process digests the bytes: it does not trust the other one to do so
		u.sum = sha256.New()
		if err := u.read(paid(u.at, t.pay), u.sum); err != nil {
			return nil, err
		}
	}
	if u.sum != nil {
		h.SHA256 = hex.EncodeToString(u.sum.Sum(nil))
	}
	if judge != nil {
		defer t.noteTime(u.Size)()
		return judge(t.context(u.account), &u.gate, u.at, u.Size, h)
	}
	u.account.Meter(t.pay)
	return u.gate.Check(u.account, paid(u.at, t.pay), u.Size, h)
}

// read writes the file to w.
func (u *Upload) read(r io.ReaderAt, w io.Writer) error {
	buf := make([]byte, 32<<10)
	for off := int64(0); off < u.Size; {
		if err := u.account.Err(); err != nil {
			return err
		}
		p := buf[:min(int64(len(buf)), u.Size-off)]
		if err := wire.ReadFull(r, p, off); err != nil {
			return notJudged(err)
		}
		w.Write(p)
		off += int64(len(p))
	}
	return nil
}

// Acceptance returns the acceptance of the file. ok is false before [Upload.Judge], after an error
// of it, for a refused file, and if the accepted bytes are not the bytes that arrived.
func (u *Upload) Acceptance() (a gate.Accepted, ok bool) {
	if !u.exists() {
		return gate.Accepted{}, false
	}
	a, ok = u.Verdict.Acceptance()
	if ok && u.isFolder() {
		if !a.OfFolder(u.listing()) {
			return gate.Accepted{}, false
		}
		return a, true
	}
	if !ok || a.Size() != u.Size || u.sum != nil && !a.Of([sha256.Size]byte(u.sum.Sum(nil)), u.Size) {
		return gate.Accepted{}, false
	}
	return a, true
}

// Reader returns a reader of the judged bytes, valid until [Upload.Close]. It is empty if nothing was
// spooled, and for a folder, whose files are [Upload.Files].
func (u *Upload) Reader() *io.SectionReader {
	if !u.exists() || u.at == nil || u.isFolder() {
		return io.NewSectionReader(strings.NewReader(""), 0, 0)
	}
	return io.NewSectionReader(u.at, 0, u.Size)
}

// Close releases everything that the upload holds. Closing twice is harmless.
func (u *Upload) Close() error {
	if !u.exists() || u.closed {
		return nil
	}
	u.closed = true
	if u.Verdict != nil {
		u.Verdict.Close()
	}
	if u.account != nil {
		u.account.Close()
		u.end()
	}
	if u.early != nil {
		u.early.Close()
	}
	if u.memory != nil {
		u.memory.Close()
	}
	if u.listed != nil {
		u.listed.Close()
	}
	var err error
	if u.file != nil {
		err = u.file.Close()
	}
	u.host.leave(u.tenant, u.taken)
	u.host.end(u)
	return err
}
