package handler

import (
	"io"
	"net/http"
	"time"
)

// Defaults of DiscardBytes and DiscardTime.
const (
	discardBytes = 4 << 20
	discardTime  = 2 * time.Second
)

// stillArriving reports whether the body is still being sent when it is refused. Then the
// connection cannot be reused, except in HTTP/2, where only the stream ends, and unless
// the client is waiting for 100 Continue.
func (q *request) stillArriving(status int) bool {
	waits := q.r.Header.Get("Expect") != "" && !q.body.came
	return q.r.ProtoMajor == 1 && q.body.r != nil && !q.body.ended && !waits && status != http.StatusRequestTimeout && q.r.ContentLength != 0
}

// discard reads and drops the rest of the body after the answer, within bounds. Closing a
// connection with unread bytes resets it, and a client that is still sending would lose
// the answer.
func (q *request) discard() {
	if q.o.DiscardBytes < 0 || q.o.DiscardTime < 0 || q.body.control.Flush() != nil {
		return
	}
	if q.body.control.SetReadDeadline(time.Now().Add(q.o.DiscardTime)) != nil {
		return
	}
	// The answer is written, so the error does not matter.
	_, _ = io.CopyN(io.Discard, q.r.Body, q.o.DiscardBytes)
}
