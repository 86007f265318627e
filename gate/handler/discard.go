package handler

import (
	"io"
	"net/http"
	"time"
)

// What is read of a body that is refused before it has come, unless Options say so.
const (
	discardBytes = 4 << 20
	discardTime  = 2 * time.Second
)

// unread reports a refusal while the body still comes: the connection cannot be used
// for another request. In HTTP/2 the stream alone ends. A client that waits to be
// told to go on sends nothing.
func (q *request) unread(status int) bool {
	waits := q.r.Header.Get("Expect") != "" && !q.body.came
	return q.r.ProtoMajor == 1 && q.body.r != nil && !q.body.ended && !waits && status != http.StatusRequestTimeout && q.r.ContentLength != 0
}

// discard reads on after the answer and throws away what comes: a connection that is
// closed with bytes unread is reset, and the client, which is still sending, loses the
// answer with it. Bytes and time are bounded: it is for the client to see the answer
// and to stop.
func (q *request) discard() {
	if q.o.DiscardBytes < 0 || q.o.DiscardTime < 0 || q.body.control.Flush() != nil {
		return
	}
	if q.body.control.SetReadDeadline(time.Now().Add(q.o.DiscardTime)) != nil {
		return
	}
	// Why it ends is all the same: the answer is given.
	_, _ = io.CopyN(io.Discard, q.r.Body, q.o.DiscardBytes)
}
