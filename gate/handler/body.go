package handler

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/anamnesis-go/anamnesis/internal/pace"
)

// A body reads the request body, with limits on how slowly the client may send it.
type body struct {
	r        io.Reader
	control  *http.ResponseController
	meter    *pace.Meter
	idle     time.Duration
	draining context.Context // ends when the server does
	closing  error           // what is said then
	// bound says whether header limits the bytes before a part of a form begins.
	bound  bool
	header int64

	came, ended bool // the first byte was read, the end was reached

	mu      sync.Mutex
	reading bool
}

// begun sets what is read.
func (b *body) begun(r io.Reader, control *http.ResponseController, rule pace.Rule) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.r, b.control, b.meter, b.idle = r, control, rule.Meter(), rule.Idle
}

// errHeader means that the headers of a part of a form are too long.
var errHeader = &problem{status: http.StatusRequestEntityTooLarge, detail: "a part of the form begins with more than 16 KiB of headers"}

func (b *body) Read(p []byte) (int, error) {
	if b.bound {
		if b.header <= 0 {
			return 0, errHeader
		}
		p = p[:min(int64(len(p)), b.header)]
	}
	if err := b.begin(); err != nil {
		return 0, err
	}
	n, err := b.r.Read(p)
	b.rest()
	b.meter.Passed(time.Now(), n)
	b.header -= int64(n)
	b.came, b.ended = b.came || n > 0, b.ended || err == io.EOF
	switch timeout, is := errors.AsType[net.Error](err); {
	case err == nil || err == io.EOF:
	case b.draining.Err() != nil:
		err = b.closing
	case is && timeout.Timeout():
		err = &problem{status: http.StatusRequestTimeout, detail: b.meter.Why()}
	default:
		err = &bodyError{err}
	}
	return n, err
}

// begin sets the deadline of a read, unless the server ends.
func (b *body) begin() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.draining.Err() != nil {
		return b.closing
	}
	if err := b.control.SetReadDeadline(b.meter.Deadline(time.Now())); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	b.reading = true
	return nil
}

// watch ends a read when the server ends. The returned function must be called before the handler
// returns.
func (b *body) watch() (unwatch func()) {
	stop := context.AfterFunc(b.draining, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.reading {
			_ = b.control.SetReadDeadline(time.Unix(1, 0))
		}
	})
	return func() { stop() }
}

// A bodyError is an error of the server about the client's body: malformed chunks, or a
// lost connection.
type bodyError struct{ error }

func (e *bodyError) Unwrap() error { return e.error }

// rest removes the deadline while nothing is read. It would end the request's context
// while the file waits or is judged, since the server watches for a client that leaves.
func (b *body) rest() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reading = false; b.control != nil {
		// An error means that the connection has no deadlines.
		_ = b.control.SetReadDeadline(time.Time{})
	}
}

// resume sets the deadline for a body that has not ended, of which the server reads more.
func (b *body) resume() {
	if b.control != nil && !b.ended {
		_ = b.control.SetReadDeadline(time.Now().Add(b.idle))
	}
}
