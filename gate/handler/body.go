package handler

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// A body reads the request body, with a limit on how long the client may be idle.
type body struct {
	r       io.Reader
	control *http.ResponseController
	idle    time.Duration
	// bound says whether header limits the bytes before a part of a form begins.
	bound  bool
	header int64

	came, ended bool // the first byte was read, the end was reached
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
	if err := b.control.SetReadDeadline(time.Now().Add(b.idle)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	n, err := b.r.Read(p)
	b.header -= int64(n)
	b.came, b.ended = b.came || n > 0, b.ended || err == io.EOF
	if err != nil && err != io.EOF {
		err = &bodyError{err}
	}
	return n, err
}

// A bodyError is an error of the server about the client's body: malformed chunks, or a
// lost connection.
type bodyError struct{ error }

func (e *bodyError) Unwrap() error { return e.error }

// rest removes the deadline while nothing is read. It would end the request's context
// while the file waits or is judged, since the server watches for a client that leaves.
func (b *body) rest() {
	if b.control != nil {
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
