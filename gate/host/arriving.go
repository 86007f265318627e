package host

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// smallFile is the largest file that is kept in memory.
const smallFile = 256 << 10

// Spool reads a file. size is the declared size, or -1; one that is larger than allowed is
// refused at once. The error is [TooLarge], [Busy], or the reader's. Reading
// stops if the beginning suffices to refuse the file; [Upload.Judge] returns the reason.
func (u *Upload) Spool(r io.Reader, size int64) error {
	if err := u.empty(); err != nil {
		return err
	}
	if r == nil {
		return errNoReader
	}
	if size > u.host.o.MaxFile {
		return &TooLarge{u.host.o.MaxFile}
	}
	if size >= 0 && size <= smallFile {
		return u.keep(r, size)
	}
	return u.spool(r, size)
}

// empty returns an error if the upload cannot take a file any more.
func (u *Upload) empty() error {
	switch {
	case !u.exists():
		return errNoUpload
	case u.closed:
		return errClosed
	case u.at != nil || u.file != nil || u.memory != nil:
		return errOneFile
	}
	return nil
}

// Use judges a file in place, without spooling it. The caller makes sure that it does not change
// meanwhile.
func (u *Upload) Use(r io.ReaderAt, size int64) error {
	if err := u.empty(); err != nil {
		return err
	}
	if r == nil || size < 0 {
		return errNoReader
	}
	if size > u.host.o.MaxFile {
		return &TooLarge{u.host.o.MaxFile}
	}
	u.at, u.Size = r, size
	return nil
}

// keep reads a small file into memory.
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
	u.sum = sha256.New()
	u.sum.Write(p)
	u.at, u.Size = bytes.NewReader(p), size
	return nil
}

// spool writes an arriving file to disk.
func (u *Upload) spool(r io.Reader, size int64) error {
	f, err := u.host.create(u.host.o.Dir)
	if err != nil {
		return err
	}
	u.file, u.sum = f, sha256.New()
	if u.host.o.Judge == nil {
		u.lookAt(size, u.hint())
	}
	if err := u.copy(r, 0); err != nil || u.refusedEarly() != nil {
		return err
	}
	if size >= 0 && u.Size != size {
		return fmt.Errorf("host: %d bytes arrived of the %d that were declared: %w", u.Size, size, io.ErrUnexpectedEOF)
	}
	u.at = f
	return nil
}

// copy writes what arrives to disk: a file that begins at off. It ends early if the file is
// refused by its beginning.
func (u *Upload) copy(r io.Reader, off int64) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if refused, err := u.refuses(buf[:n]); refused || err != nil {
				return err
			}
			if err := u.write(buf[:n], off); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// lookAt starts to examine a file while it arrives.
func (u *Upload) lookAt(size int64, h gate.Hint) {
	policy := u.gate.Policy.Limits
	policy.Timeout = limits.NoTimeout
	u.memory = u.tenant.account.Child(policy)
	u.memory.Meter(u.payEarly)
	u.early = u.gate.Stream(u.memory, size, h)
}

// lookNoMore ends the examination of a file that has arrived.
func (u *Upload) lookNoMore() {
	if u.early != nil {
		u.early.Close()
		u.memory.Close()
		u.early, u.memory = nil, nil
	}
}

// refusedEarly returns the verdict about a file that is refused by its beginning, or nil. A folder
// is refused early only if the file is forbidden. That class is the worst, so the other files cannot
// change it.
func (u *Upload) refusedEarly() *gate.Verdict {
	if u == nil || u.early == nil {
		return nil
	}
	v := u.early.Verdict()
	if v != nil && u.listed != nil && v.Class() != wire.Forbidden {
		return nil
	}
	return v
}

// payEarly pays for the examination of an arriving file, which takes a slot like a judgement.
func (u *Upload) payEarly(steps int64) {
	if u.visit == nil && u.lost == nil {
		if u.visit, u.lost = u.host.queue.enter(context.Background(), &u.tenant.lane, false); u.lost != nil {
			return
		}
	}
	if u.visit != nil {
		u.visit.pay(steps)
	}
}

// refuses reports whether the rest of the file is not needed.
func (u *Upload) refuses(p []byte) (bool, error) {
	if u.early == nil || u.early.Verdict() != nil {
		return false, nil
	}
	defer func() { // also if it panics
		if u.visit != nil {
			u.visit.leave()
			u.visit = nil
		}
	}()
	_, err := u.early.Write(p)
	if u.lost != nil {
		return false, u.lost
	}
	if errors.Is(err, gate.ErrRefused) {
		return u.refusedEarly() != nil, nil
	}
	return false, err
}

func (u *Upload) hint() gate.Hint {
	return gate.Hint{Name: u.Name, Promised: u.Promised, Beside: u.Beside, Field: u.field}
}

func (u *Upload) write(p []byte, off int64) error {
	n := int64(len(p))
	if n > u.host.o.MaxFile-(u.Size-off) {
		return &TooLarge{u.host.o.MaxFile}
	}
	if err := u.host.room(u.tenant, n); err != nil {
		return err
	}
	u.taken += n
	u.Size += n
	u.sum.Write(p)
	_, err := u.file.Write(p)
	return err
}

// refused converts a limit of the host into [Busy], so that it is not taken for a refusal
// of the file.
func (u *Upload) refused(err error) error {
	if t := u.tenant.account; t.Refused(err) {
		return u.host.busy(!u.host.account.Refused(err), noMemory)
	}
	return err
}
