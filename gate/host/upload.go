package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/spool"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// An Upload is one file of a tenant: admitted, spooled, judged, closed.
type Upload struct {
	// Name is that of the file, without a folder; Promised the format that the sender
	// said. Both may be empty.
	Name, Promised string
	// Beside says that it need not be a model: see [gate.Hint].
	Beside bool
	Size   int64
	// Verdict is nil before [Upload.Judge].
	Verdict *gate.Verdict

	host   *Host
	tenant *tenant
	name   string // of the tenant
	gate   gate.Gate

	at      io.ReaderAt
	file    *spool.File
	early   *gate.Stream   // looks at what comes
	taken   int64          // of the host's spool
	memory  *limits.Budget // what a small file, or the beginning of a larger one, holds
	account *limits.Budget // of the judgement
	closed  bool
}

// An Event is the end of an upload, for those who count and log.
type Event struct {
	Tenant, Name string
	Size         int64
	// Status is what an HTTP client is answered; 200 if the file was accepted.
	Status int
	Class  wire.Class
	Rules  []string      // that refused the file
	Spool  time.Duration // how long the file took to come
	Judge  time.Duration // how long the gate took, waiting included
}

// TooLarge is a file of more bytes than the host takes.
type TooLarge struct{ Max int64 }

func (e *TooLarge) Error() string { return "the file has more than " + limits.FormatSize(e.Max) }

// smallFile stays in memory.
const smallFile = 256 << 10

// Spool takes in a file. size is what was declared, or -1: more is refused
// before it is read. It is [TooLarge], [Busy], or the reader's error. A file that is
// refused by its beginning is read no further: [Upload.Judge] says why.
func (u *Upload) Spool(r io.Reader, size int64) error {
	if u.at != nil {
		return errors.New("host: an upload has one file")
	}
	if size > u.host.o.MaxFile {
		return &TooLarge{u.host.o.MaxFile}
	}
	if size >= 0 && size <= smallFile {
		return u.keep(r, size)
	}
	return u.spool(r, size)
}

// Use takes a file where it lies. It is not spooled, so what changes it while it
// is judged is outside of this host.
func (u *Upload) Use(r io.ReaderAt, size int64) error {
	if u.at != nil {
		return errors.New("host: an upload has one file")
	}
	if size > u.host.o.MaxFile {
		return &TooLarge{u.host.o.MaxFile}
	}
	u.at, u.Size = r, size
	return nil
}

// keep takes a small file into memory.
func (u *Upload) keep(r io.Reader, size int64) error {
	u.memory = u.tenant.account.Child(limits.Policy{})
	p, err := limits.Make[byte](u.memory, int(size))
	if err != nil {
		return u.refused(err)
	}
	if _, err := io.ReadFull(r, p); err != nil {
		return err
	}
	if n, err := r.Read(make([]byte, 1)); n > 0 || err != nil && err != io.EOF {
		return errors.Join(err, fmt.Errorf("host: more than the %d bytes that were declared", size))
	}
	u.at, u.Size = bytes.NewReader(p), size
	return nil
}

// spool writes a file to disk as it comes.
func (u *Upload) spool(r io.Reader, size int64) error {
	f, err := spool.Create(u.host.o.Dir)
	if err != nil {
		return err
	}
	u.file = f
	if u.host.o.Judge == nil {
		u.look(size)
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if refused, err := u.refuses(buf[:n]); refused || err != nil {
				return err
			}
			if err := u.write(buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if size >= 0 && u.Size != size {
		return fmt.Errorf("host: %d bytes came of the %d that were declared: %w", u.Size, size, io.ErrUnexpectedEOF)
	}
	u.at = f
	return nil
}

// look begins to look at the file while it comes.
func (u *Upload) look(size int64) {
	policy := u.gate.Policy.Limits
	policy.Timeout = limits.NoTimeout
	u.memory = u.tenant.account.Child(policy)
	u.early = u.gate.Stream(u.memory, size, u.hint())
}

// refuses reports a file that need not come any further.
func (u *Upload) refuses(p []byte) (bool, error) {
	if u.early == nil {
		return false, nil
	}
	_, err := u.early.Write(p)
	if errors.Is(err, gate.ErrRefused) {
		return true, nil
	}
	return false, err
}

func (u *Upload) hint() gate.Hint {
	return gate.Hint{Name: u.Name, Promised: u.Promised, Beside: u.Beside}
}

func (u *Upload) write(p []byte) error {
	n := int64(len(p))
	if n > u.host.o.MaxFile-u.Size {
		return &TooLarge{u.host.o.MaxFile}
	}
	if err := u.host.room(n); err != nil {
		return err
	}
	u.taken += n
	u.Size += n
	_, err := u.file.Write(p)
	return err
}

// refused tells what the host has no room for from what a file is refused for.
func (u *Upload) refused(err error) error {
	if t := u.tenant.account; t.Refused(err) {
		return u.host.busy(!u.host.account.Refused(err), "the memory for judgements is taken")
	}
	return err
}

// Judge asks the gate, when it is this upload's turn. An error says nothing of the
// file: [Busy], or why the context ended.
func (u *Upload) Judge(ctx context.Context) (*gate.Verdict, error) {
	if u.early != nil && u.early.Verdict() != nil && u.Verdict == nil {
		u.Verdict = u.early.Verdict()
		return u.Verdict, nil
	}
	if u.at == nil || u.Verdict != nil {
		return nil, errors.New("host: an upload is spooled, then judged once")
	}
	release, err := u.host.slot(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	u.account = u.tenant.account.ChildContext(ctx, u.gate.Policy.Limits)
	v, err := u.check()
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
		return nil, fmt.Errorf("host: the file could not be judged: %w", err)
	}
	u.Verdict = v
	return v, nil
}

func (u *Upload) check() (*gate.Verdict, error) {
	if judge := u.host.o.Judge; judge != nil {
		return judge(u.account.Context(), &u.gate, u.at, u.Size, u.hint())
	}
	return u.gate.Check(u.account, u.at, u.Size, u.hint())
}

// Reader gives the bytes that were judged. It is good until [Upload.Close].
func (u *Upload) Reader() *io.SectionReader { return io.NewSectionReader(u.at, 0, u.Size) }

// Close gives back all that the upload holds. Closing twice is harmless.
func (u *Upload) Close() error {
	if u.closed {
		return nil
	}
	u.closed = true
	if u.Verdict != nil {
		u.Verdict.Close()
	}
	if u.account != nil {
		u.account.Close()
	}
	if u.early != nil {
		u.early.Close()
	}
	if u.memory != nil {
		u.memory.Close()
	}
	var err error
	if u.file != nil {
		err = u.file.Close()
	}
	u.host.leave(u.taken)
	u.host.end(u)
	return err
}
