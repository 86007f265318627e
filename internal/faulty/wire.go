package faulty

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// A Fault is what goes wrong with a connection.
type Fault uint8

// The faults of a connection.
const (
	None      Fault = iota
	HalfClose       // the client sends no more
	Reset           // the connection is gone
	Stall           // the client neither sends nor reads, and the deadlines that are set pass
)

// A Wire is the server's side of a connection whose client sends a text in pieces, and then
// waits. Its deadlines pass only when a test lets them.
type Wire struct {
	point func(op string) Fault
	mu    sync.Mutex
	wake  *sync.Cond
	in    []byte
	piece int
	out   []byte
	err   error // of all that follows
	eof   bool
	mute  bool
	ended bool
	until time.Time // deadline of reads
	slow  time.Time // deadline of writes
	done  chan struct{}
}

// NewWire returns a connection. point is called before each "read" and "write", and says
// what goes wrong from then on.
func NewWire(text string, piece int, point func(op string) Fault) *Wire {
	w := &Wire{point: point, in: []byte(text), piece: piece, done: make(chan struct{})}
	w.wake = sync.NewCond(&w.mu)
	return w
}

// Done is closed with the connection.
func (w *Wire) Done() <-chan struct{} { return w.done }

// Piece sets how many bytes come at once from now on.
func (w *Wire) Piece(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.piece = max(n, 1)
}

// End lets the client send no more than it has sent, and nothing after that.
func (w *Wire) End() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.eof = true
	w.wake.Broadcast()
}

// Pass lets the deadlines pass that are set.
func (w *Wire) Pass() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.until.IsZero() {
		w.until = time.Unix(1, 0)
	}
	if !w.slow.IsZero() {
		w.slow = time.Unix(1, 0)
	}
	w.wake.Broadcast()
}

// Read implements [net.Conn].
func (w *Wire) Read(p []byte) (int, error) {
	what := w.point("read")
	w.mu.Lock()
	defer w.mu.Unlock()
	switch what {
	case HalfClose:
		w.eof, w.in = true, nil
	case Reset:
		w.err = syscall.ECONNRESET
	case Stall:
		w.mute = true
	}
	for {
		switch {
		case w.ended:
			return 0, net.ErrClosed
		case w.err != nil:
			return 0, w.err
		case !w.until.IsZero() && (w.mute || w.until.Before(time.Unix(2, 0))):
			return 0, os.ErrDeadlineExceeded
		case w.mute: // nothing would end it but the client
			w.err = syscall.ECONNRESET
		case len(w.in) > 0 && len(p) > 0:
			n := copy(p[:min(len(p), w.piece)], w.in)
			w.in = w.in[n:]
			return n, nil
		case w.eof:
			return 0, io.EOF
		default:
			w.wake.Wait()
		}
	}
}

// Write implements [net.Conn].
func (w *Wire) Write(p []byte) (int, error) {
	what := w.point("write")
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.ended:
		return 0, net.ErrClosed
	case what == Reset, what == Stall && w.slow.IsZero():
		w.err = syscall.EPIPE
		w.out = append(w.out, p[:len(p)/2]...)
	case what == Stall, !w.slow.IsZero() && w.slow.Before(time.Unix(2, 0)):
		return 0, os.ErrDeadlineExceeded
	}
	if w.err != nil {
		w.wake.Broadcast()
		return 0, w.err
	}
	w.out = append(w.out, p...)
	return len(p), nil
}

// Close implements [net.Conn].
func (w *Wire) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		w.ended = true
		close(w.done)
		w.wake.Broadcast()
	}
	return nil
}

// CloseWrite implements [net.Conn].
func (w *Wire) CloseWrite() error { return nil }

// LocalAddr implements [net.Conn].
func (w *Wire) LocalAddr() net.Addr { return &net.TCPAddr{} }

// RemoteAddr implements [net.Conn].
func (w *Wire) RemoteAddr() net.Addr { return &net.TCPAddr{} }

// SetDeadline implements [net.Conn].
func (w *Wire) SetDeadline(t time.Time) error { w.set(&w.slow, t); return w.set(&w.until, t) }

// SetReadDeadline implements [net.Conn].
func (w *Wire) SetReadDeadline(t time.Time) error { return w.set(&w.until, t) }

// SetWriteDeadline implements [net.Conn].
func (w *Wire) SetWriteDeadline(t time.Time) error { return w.set(&w.slow, t) }

func (w *Wire) set(to *time.Time, t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	*to = t
	w.wake.Broadcast()
	return nil
}

// Answered is what the client has got.
func (w *Wire) Answered() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.out)
}
