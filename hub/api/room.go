package api

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// A room bounds what goes on at once: all of it, and what one tenant may have of it.
type room struct {
	all int

	mu     sync.Mutex
	in     int
	tenant map[string]int
}

// enter returns what is to be called at the end, or that there is no room.
func (r *room) enter(tenant string) (leave func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.in >= r.all || r.tenant[tenant] >= (r.all+1)/2 {
		return nil, &problem{status: http.StatusServiceUnavailable, detail: "too much comes at once: send it again later"}
	}
	if r.tenant == nil {
		r.tenant = map[string]int{}
	}
	r.in++
	r.tenant[tenant]++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.in--
		if r.tenant[tenant]--; r.tenant[tenant] == 0 {
			delete(r.tenant, tenant)
		}
	}, nil
}

// A share bounds the bytes that a tenant stores, those on their way included.
type share struct {
	mu     sync.Mutex
	coming map[string]int64
}

// take counts n bytes as on their way, and returns what is to be called when they are stored or given
// up. Whoever asks for what is stored afterwards sees each byte of the tenant at least once.
func (s *share) take(tenant string, n int64) (coming int64, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.coming == nil {
		s.coming = map[string]int64{}
	}
	s.coming[tenant] += n
	return s.coming[tenant], func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.coming[tenant] -= n; s.coming[tenant] == 0 {
			delete(s.coming, tenant)
		}
	}
}

// A pacer reads a body as long as it comes fast enough.
type pacer struct {
	r          io.Reader
	control    *http.ResponseController
	begun, end time.Time
	every      time.Duration
	rate, n    int64
}

// paced returns a body that fails if its client is too slow.
func (s *Server) paced(w http.ResponseWriter, body io.Reader) io.Reader {
	now := time.Now()
	return &pacer{r: body, control: http.NewResponseController(w), begun: now, end: now.Add(s.o.UploadTime), every: s.o.RateTime, rate: s.o.MinRate}
}

// errSlow is what a slow client is told.
var errSlow = &problem{status: http.StatusRequestTimeout, detail: "the bytes come too slowly"}

func (p *pacer) Read(b []byte) (int, error) {
	now := time.Now()
	if took := now.Sub(p.begun); took > p.every && float64(p.n) < took.Seconds()*float64(p.rate) || now.After(p.end) {
		return 0, errSlow
	}
	next := now.Add(p.every)
	if next.After(p.end) {
		next = p.end
	}
	p.control.SetReadDeadline(next) // a connection that cannot is one of a test
	n, err := p.r.Read(b)
	p.n += int64(n)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = errSlow
	}
	return n, err
}
