package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Options say what may be fetched. The zero value is for addresses that strangers name.
type Options struct {
	// AllowPrivate allows private, loopback and link-local addresses, and http.
	AllowPrivate bool
	// Proxy is the one of the operator, which then resolves names in this package's
	// place: a name is no longer held against private addresses, an address still is.
	Proxy *url.URL
	// NoProxy are hosts that are asked without it, in the form of NO_PROXY.
	NoProxy []string
	// Hub is the address of the hub, https://huggingface.co where it is empty.
	Hub string
	// Token is sent to the hub alone.
	Token string
	// S3 is where buckets are, and the key to them.
	S3 S3
	// Login finds name and password for a registry; nil knows none.
	Login func(host string) (name, password string, ok bool)
	// Redirects are hosts that a redirect may go to besides the host itself; one that
	// begins with a dot stands for all below it.
	Redirects []string
}

const (
	defaultHub = "https://huggingface.co"
	attempts   = 4
	firstWait  = 200 * time.Millisecond
	maxHops    = 5
	maxHeader  = 64 << 10 // of an answer
)

// ErrChanged is a file that is not what it was when it was first asked for.
var ErrChanged = wire.ErrMismatch.WithRule("file.changed").Errorf("the file changed while it was read")

// A client fetches for one account.
type client struct {
	ctx  context.Context
	b    *limits.Budget
	o    Options
	http *http.Client
	// narrow is for what ends before anybody knows where: little is on its way by then.
	narrow *http.Client
	// sign adds what a request needs to be allowed, if it goes to the host it is for.
	sign func(*http.Request)
	// hosts are those that redirects may go to besides the host itself.
	hosts []string
	// answers give back what texts were charged for.
	answers []func()
	// oneRange is set where a server does not answer with two ranges.
	oneRange atomic.Bool
}

func newClient(b *limits.Budget, o Options) *client {
	c := &client{ctx: b.Context(), b: b, o: o, sign: func(*http.Request) {}, hosts: o.Redirects}
	c.http = &http.Client{CheckRedirect: c.redirect, Transport: c.transport(0)}
	c.narrow = &http.Client{CheckRedirect: c.redirect, Transport: c.transport(window)}
	return c
}

// window is how much a server may send ahead of the reader of a header of unknown length.
// The buffers of a system grow to megabytes, which is more than most headers.
const window = 128 << 10

// transport is one whose connections hold at most so many bytes that nobody read yet; 0 is
// as many as the system likes.
func (c *client) transport(held int) *http.Transport {
	t := &http.Transport{
		Proxy: c.proxy, TLSHandshakeTimeout: 20 * time.Second, ResponseHeaderTimeout: 30 * time.Second,
		MaxIdleConnsPerHost: 8, IdleConnTimeout: 30 * time.Second, ForceAttemptHTTP2: true, DisableCompression: true,
		MaxResponseHeaderBytes: maxHeader,
	}
	if held > 0 {
		t.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: held, MaxReceiveBufferPerConnection: 2 * held}
	}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		return c.dial(ctx, network, address, held)
	}
	return t
}

// silence is how long a server may send nothing.
const silence = time.Minute

// watched is a connection whose reads end after silence.
type watched struct{ net.Conn }

func (w *watched) Read(p []byte) (int, error) {
	if err := w.SetReadDeadline(time.Now().Add(silence)); err != nil {
		return 0, err
	}
	return w.Conn.Read(p)
}

// redirect decides about the next hop.
func (c *client) redirect(next *http.Request, via []*http.Request) error {
	if len(via) > maxHops {
		return fmt.Errorf("%w: more than %d redirects", ErrForbidden, maxHops)
	}
	if err := c.b.Request(); err != nil {
		return err
	}
	if err := c.check(next.URL); err != nil {
		return err
	}
	first := via[0].URL
	if first.Scheme == "https" && next.URL.Scheme != "https" {
		return fmt.Errorf("%w: a redirect from https to %q", ErrForbidden, next.URL.Scheme)
	}
	next.Header.Del("Referer") // which has what was asked of the address: a signature
	if next.URL.Host != first.Host {
		for name := range next.Header { // no secret goes to another host
			if name == "Authorization" || strings.HasPrefix(name, "X-Amz-") {
				next.Header.Del(name)
			}
		}
		host := next.URL.Hostname()
		listed := func(h string) bool { return h == host || strings.HasPrefix(h, ".") && strings.HasSuffix(host, h) }
		if !slices.ContainsFunc(c.hosts, listed) {
			return fmt.Errorf("%w: a redirect to the host %q", ErrForbidden, host)
		}
	}
	return nil
}

// get asks until there is an answer that says something about the file. take reads the
// body, or puts http.NoBody in its place and keeps it; what it returns retryable is
// asked again.
func (c *client) get(u *url.URL, header http.Header, take func(*http.Response) error) error {
	return c.getBy(c.http, u, header, take)
}

func (c *client) getBy(by *http.Client, u *url.URL, header http.Header, take func(*http.Response) error) error {
	if err := c.check(u); err != nil {
		return err
	}
	wait := firstWait
	for try := 1; ; try++ {
		err := c.once(by, u, header, take)
		again, ok := errors.AsType[*retryable](err)
		if !ok || try == attempts {
			return err
		}
		pause := time.NewTimer(max(again.after, wait/2+rand.N(wait)))
		select {
		case <-c.ctx.Done():
			pause.Stop()
			return context.Cause(c.ctx)
		case <-pause.C:
		}
		wait *= 2
	}
}

// retryable is a failure that may pass.
type retryable struct {
	err   error
	after time.Duration
}

func (r *retryable) Error() string { return r.err.Error() }
func (r *retryable) Unwrap() error { return r.err }

func (c *client) once(by *http.Client, u *url.URL, header http.Header, take func(*http.Response) error) error {
	if err := c.b.Request(); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(c.ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	for k, v := range header {
		req.Header[k] = v
	}
	req.Header.Set("User-Agent", "anamnesis")
	c.sign(req)
	resp, err := by.Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok { // its text is the address with all that is asked of it
			err = fmt.Errorf("%s: %w", shown(u), e.Err)
		}
		if errors.Is(err, ErrForbidden) || c.ctx.Err() != nil {
			return err
		}
		return &retryable{err: err}
	}
	defer func() { resp.Body.Close() }() // take may have put another in its place
	if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500 {
		return &retryable{fmt.Errorf("%s: %s", shown(u), resp.Status), retryAfter(resp)}
	}
	if resp.StatusCode < 300 && encoded(resp.Header) {
		return wire.ErrUnsupported.Errorf("%s: an answer with a Content-Encoding, which was not asked for", shown(u))
	}
	return take(resp)
}

// encoded reports bytes that other clients decode before they use them, so that the file
// they load is not the one that is read here. Some stores leave aws-chunked behind, which is
// of an upload and says nothing of an answer.
func encoded(h http.Header) bool {
	for coding := range strings.SplitSeq(strings.Join(h.Values("Content-Encoding"), ","), ",") {
		if coding = strings.TrimSpace(coding); coding != "" && coding != "identity" && coding != "aws-chunked" {
			return true
		}
	}
	return false
}

// retryAfter is how long the server asks to wait, within reason.
func retryAfter(resp *http.Response) time.Duration {
	d, err := time.ParseDuration(resp.Header.Get("Retry-After") + "s")
	if err != nil || d < 0 {
		return 0
	}
	return min(d, 30*time.Second)
}

// read fills p from a body.
func (c *client) read(p []byte, body io.Reader) error {
	if err := c.b.Fetch(int64(len(p))); err != nil {
		return err
	}
	if _, err := io.ReadFull(body, p); err != nil {
		return &retryable{err: fmt.Errorf("the answer is cut: %w", err)}
	}
	return nil
}

// decoded is how many bytes a byte of such an answer may become: an empty object of
// three bytes is a struct of 48, in a list that grew.
const decoded = 32

// text is a whole answer that is no file: a listing, a manifest. What it decodes to is
// charged with it, until settle.
func (c *client) text(resp *http.Response) ([]byte, error) {
	release, err := c.b.Lease(maxListing)
	if err != nil {
		return nil, err
	}
	defer release()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxListing+1))
	switch {
	case err != nil:
		return nil, &retryable{err: err}
	case len(text) > maxListing:
		return nil, &limits.Error{Axis: limits.SingleAlloc, Want: maxListing + 1, Left: maxListing}
	}
	if err := c.b.Fetch(int64(len(text))); err != nil {
		return nil, err
	}
	done, err := c.b.Lease(decoded * int64(len(text)))
	c.answers = append(c.answers, done)
	return text, err
}

// settle gives back what answers were charged for that are no longer held.
func (c *client) settle() {
	for _, done := range c.answers {
		done()
	}
	c.answers = nil
}
