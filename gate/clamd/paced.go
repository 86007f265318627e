package clamd

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/anamnesis-go/anamnesis/internal/pace"
)

// A pacedConn bounds how slowly a client sends and reads, and cuts it when the server ends.
// Over a Unix socket it takes the descriptors that come with the bytes.
type pacedConn struct {
	net.Conn

	in, out *pace.Meter
	rights  rights

	ctx    context.Context
	unhook func() bool
	mu     sync.Mutex // a deadline that the end has set stays
}

func newPacedConn(ctx context.Context, c net.Conn) *pacedConn {
	p := &pacedConn{Conn: c, ctx: ctx}
	p.unhook = context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		_ = c.SetReadDeadline(time.Unix(1, 0))
		// The answer about a file that is being judged is still written.
		_ = c.SetWriteDeadline(time.Now().Add(answerTime))
	})
	return p
}

// answerTime is how long a client may take for its answers when the server ends, beside the
// time for judgements.
const answerTime = 9 * time.Second

func (p *pacedConn) close() {
	p.unhook()
	p.rights.close()
	p.Conn.Close()
}

// deadline sets a deadline, unless the end has set one.
func (p *pacedConn) deadline(set func(time.Time) error, m *pace.Meter) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := m.Deadline(time.Now())
	if p.ctx.Err() != nil {
		return nil
	}
	return set(d)
}

func (p *pacedConn) Read(b []byte) (int, error) {
	if err := p.deadline(p.SetReadDeadline, p.in); err != nil {
		return 0, err
	}
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := p.receive(b)
	p.in.Passed(time.Now(), n)
	return n, err
}

func (p *pacedConn) Write(b []byte) (int, error) {
	if err := p.deadline(p.SetWriteDeadline, p.out); err != nil {
		return 0, err
	}
	n, err := p.Conn.Write(b)
	p.out.Passed(time.Now(), n)
	return n, err
}
