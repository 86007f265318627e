package handler

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// body is what a client sends. It may not send nothing for long.
type body struct {
	r       io.Reader
	control *http.ResponseController
	idle    time.Duration
	// header bounds what may be read before a part of a form begins; negative is no
	// bound.
	bound  bool
	header int64

	came, ended bool // something was read, and all of it
}

// errHeader is a part of a form that begins with too much.
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

// A bodyError is what the server says of a body that the client sent: chunks that are
// none, a connection that ended.
type bodyError struct{ error }

func (e *bodyError) Unwrap() error { return e.error }

// release takes the deadline away, once all is read.
func (b *body) release() {
	// A connection that has none has none to take away.
	_ = b.control.SetReadDeadline(time.Time{})
}
