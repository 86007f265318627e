package remote

import (
	"context"
	"crypto/tls"
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

// Options configure what may be fetched. The zero value is for addresses from strangers.
type Options struct {
	// AllowPrivate allows private, loopback and link-local addresses, and http.
	AllowPrivate bool
	// Proxy is the operator's proxy, which then resolves host names: whether a name leads
	// to a private address is no longer checked, numeric addresses still are.
	Proxy *url.URL
	// NoProxy is a list of hosts that are reached without the proxy, in the form of NO_PROXY.
	NoProxy string
	// Hub is the address of the hub; default https://huggingface.co.
	Hub string
	// Token is sent to the hub only.
	Token string
	// S3 has the address of buckets and the keys for them.
	S3 S3
	// Login returns name and password for a registry, by its host and port; both are empty if
	// there are none. May be nil.
	Login func(ctx context.Context, host string) (name, password string, err error)
	// Redirects are hosts that a redirect may lead to, besides the host itself; a name that
	// begins with a dot stands for all hosts below it.
	Redirects []string
}

const (
	defaultHub = "https://huggingface.co"
	attempts   = 4
	firstWait  = 200 * time.Millisecond
	maxHops    = 5
	maxHeader  = 64 << 10 // of an answer
)

// ErrChanged means that a file changed after its first bytes were fetched.
var ErrChanged = wire.ErrMismatch.WithRule("file.changed").Errorf("the file changed while it was read")

// A client fetches for one budget.
type client struct {
	ctx  context.Context
	b    *limits.Budget
	o    Options
	http *http.Client
	// narrow has small receive windows, so that little is received in vain when a stream is
	// closed early.
	narrow *http.Client
	// sign adds credentials to a request, if it goes to their host.
	sign func(*http.Request) error
	// hosts are hosts that redirects may lead to, besides the host itself.
	hosts []string
	// answers release the charges for decoded answers.
	answers []func()
	// patience is silence and wait is firstWait, except in tests.
	patience, wait time.Duration
	// In tests, admitted is called with an address before it is dialled, and resolver resolves
	// names.
	admitted func(address string) error
	resolver *net.Resolver
	// dialled is called with a new connection and how much it may buffer, in tests.
	dialled func(conn net.Conn, held int)
	// oneRange is set if a server does not answer requests for two ranges.
	oneRange atomic.Bool
}

// configure changes a new client, in tests.
var configure func(*client)

func newClient(b *limits.Budget, o Options) *client {
	c := &client{ctx: b.Context(), b: b, o: o, sign: func(*http.Request) error { return nil }, hosts: o.Redirects, patience: silence, wait: firstWait}
	if configure != nil {
		configure(c)
	}
	c.http = &http.Client{CheckRedirect: c.redirect, Transport: c.transport(0)}
	c.narrow = &http.Client{CheckRedirect: c.redirect, Transport: c.transport(window)}
	return c
}

// window is how much a server may send ahead of the reader of a header of unknown length. By
// default the buffers of a system grow to megabytes, more than most headers have.
const window = 128 << 10

// transport returns a transport whose connections buffer at most held bytes; 0 for the
// system's default.
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

// silence is how long a server may send nothing. While this client waits for an answer, the server
// must send at least leastSent bytes within this time: about 1 KiB a second.
const (
	silence   = time.Minute
	leastSent = 64 << 10
)

// An idleConn is a connection whose reads fail after silence.
type idleConn struct{ net.Conn }

func (w *idleConn) Read(p []byte) (int, error) {
	if err := w.SetReadDeadline(time.Now().Add(silence)); err != nil {
		return 0, err
	}
	return w.Conn.Read(p)
}

// errTooSlow means that a server sends, but so little that an operation without a deadline
// would hardly end.
var errTooSlow = errors.New("the server sends less than 1 KiB a second")

// A patientBody is an answer whose reads fail when the server sends too slowly. Time without a
// reader is not counted.
type patientBody struct {
	io.ReadCloser
	patience time.Duration
	waited   time.Duration // since the last leastSent bytes
	got      int
}

func (w *patientBody) Read(p []byte) (int, error) {
	if w.waited > w.patience {
		return 0, errTooSlow
	}
	began := time.Now()
	n, err := w.ReadCloser.Read(p)
	w.waited += time.Since(began)
	if w.got += n; w.got >= leastSent {
		w.got, w.waited = 0, 0
	}
	return n, err
}

// redirect checks a redirect, see [http.Client.CheckRedirect].
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
	next.Header.Del("Referer") // the query of the previous URL may be a signature
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

// get sends a request, repeatedly if the server fails, and passes the answer to take. take
// reads the body, or keeps it and replaces it by http.NoBody. If take returns a retryable
// error, the request is repeated.
func (c *client) get(u *url.URL, header http.Header, take func(*http.Response) error) error {
	return c.getWith(c.http, u, header, take)
}

func (c *client) getWith(by *http.Client, u *url.URL, header http.Header, take func(*http.Response) error) error {
	if err := c.check(u); err != nil {
		return err
	}
	wait := c.wait
	for try := 1; ; try++ {
		err := c.send(by, u, header, take)
		again, ok := errors.AsType[*retryable](err)
		if !ok || try == attempts {
			return err
		}
		pause := time.NewTimer(max(again.after, wait/2+rand.N(wait)))
		select {
		case <-c.ctx.Done():
			pause.Stop()
			return c.b.Err()
		case <-pause.C:
		}
		wait *= 2
	}
}

// retryable is an error that may be temporary.
type retryable struct {
	err   error
	after time.Duration
}

func (r *retryable) Error() string { return r.err.Error() }
func (r *retryable) Unwrap() error { return r.err }

func (c *client) send(by *http.Client, u *url.URL, header http.Header, take func(*http.Response) error) error {
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
	if err := c.sign(req); err != nil {
		return err
	}
	resp, err := by.Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok { // its text has the query, which may be a signature
			err = fmt.Errorf("%s: %w", urlText(u), e.Err)
		}
		if c.ctx.Err() != nil {
			return c.b.Err()
		}
		_, stranger := errors.AsType[*tls.CertificateVerificationError](err)
		if stranger || errors.Is(err, ErrForbidden) || errors.Is(err, errTooSlow) {
			return err
		}
		return &retryable{err: err}
	}
	resp.Body = &patientBody{ReadCloser: resp.Body, patience: c.patience}
	defer func() { resp.Body.Close() }() // evaluated late: take may replace the body
	if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500 {
		return &retryable{refused(urlText(u), resp), retryAfter(resp)}
	}
	if resp.StatusCode < 300 && encoded(resp.Header) {
		return wire.ErrUnsupported.Errorf("%s: an answer with a Content-Encoding that was not requested", urlText(u))
	}
	return take(resp)
}

// encoded reports whether the answer has a content coding. Other clients would decode it, and
// load a different file than was read here. Some stores leave aws-chunked, the coding of an
// upload, which does not concern the answer.
func encoded(h http.Header) bool {
	for coding := range strings.SplitSeq(strings.Join(h.Values("Content-Encoding"), ","), ",") {
		if coding = strings.TrimSpace(coding); coding != "" && coding != "identity" && coding != "aws-chunked" {
			return true
		}
	}
	return false
}

// retryAfter returns how long the server asks to wait, at most 30 s.
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
	if _, err := io.ReadFull(body, p); errors.Is(err, errTooSlow) {
		return err
	} else if err != nil {
		return &retryable{err: fmt.Errorf("the answer is truncated: %w", err)}
	}
	return nil
}

// decoded is the most memory per byte of an answer: an empty object of three bytes becomes a struct
// of 48, in a slice whose capacity was doubled.
const decoded = 32

// text returns a whole answer that is not a file: a listing, a manifest. The memory that it takes
// when decoded is charged until releaseAnswers.
func (c *client) text(resp *http.Response) ([]byte, error) {
	release, err := c.b.Lease(maxListing)
	if err != nil {
		return nil, err
	}
	defer release()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxListing+1))
	switch {
	case errors.Is(err, errTooSlow):
		return nil, err
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

// releaseAnswers releases the charges for answers that are no longer kept.
func (c *client) releaseAnswers() {
	for _, done := range c.answers {
		done()
	}
	c.answers = nil
}
