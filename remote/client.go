package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/anamnesis-go/anamnesis/limits"
)

// Options say what may be fetched. The zero value is for addresses that strangers name.
type Options struct {
	// AllowPrivate allows private, loopback and link-local addresses, and http.
	AllowPrivate bool
	// Hub is the address of the hub, https://huggingface.co where it is empty.
	Hub string
	// Token is sent to the hub alone.
	Token string
	// MaxRequests and MaxBytes bound what is fetched; 0 is 2,000 and no bound.
	MaxRequests, MaxBytes int64
	// Redirects are hosts that a redirect may go to besides the host itself; one that
	// begins with a dot stands for all below it.
	Redirects []string
}

const (
	defaultHub  = "https://huggingface.co"
	maxRequests = 2000
	attempts    = 4
	firstWait   = 200 * time.Millisecond
	maxHops     = 5
)

// hubHosts are those that the hub redirects to.
var hubHosts = []string{"huggingface.co", ".huggingface.co", ".hf.co"}

// ErrForbidden is why an address is not fetched from.
var ErrForbidden = errors.New("forbidden address")

// ErrChanged is a file that is not what it was when it was first asked for.
var ErrChanged = errors.New("the file changed while it was read")

// A client fetches, within bounds.
type client struct {
	o               Options
	http            *http.Client
	requests, bytes atomic.Int64
}

func newClient(o Options) *client {
	c := &client{o: o}
	dialer := &net.Dialer{Timeout: 20 * time.Second, Control: c.admit}
	c.http = &http.Client{
		CheckRedirect: c.redirect,
		Transport: &http.Transport{ // no Proxy: it would resolve names where nothing checks them
			DialContext: dialer.DialContext, TLSHandshakeTimeout: 20 * time.Second, ResponseHeaderTimeout: 30 * time.Second,
			MaxIdleConnsPerHost: 8, IdleConnTimeout: 30 * time.Second, ForceAttemptHTTP2: true, DisableCompression: true,
		},
	}
	return c
}

// admit is asked with the resolved address, before the first packet is sent to it.
func (c *client) admit(_, address string, _ syscall.RawConn) error {
	if c.o.AllowPrivate {
		return nil
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %s", ErrForbidden, address)
	}
	if ip := at.Addr().Unmap(); !public(ip) {
		return fmt.Errorf("%w: %s is not a public address", ErrForbidden, ip)
	}
	return nil
}

// notPublic are ranges that netip's own questions do not know: shared addresses of
// providers, benchmarks, documentation, what is reserved, and those that carry an IPv4
// address inside (IANA's registries of special addresses).
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("fec0::/10"),
}

func public(ip netip.Addr) bool {
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return false
	}
	return !slices.ContainsFunc(notPublic, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// check refuses an address by its text.
func (c *client) check(u *url.URL) error {
	switch {
	case u.Scheme != "https" && !(u.Scheme == "http" && c.o.AllowPrivate):
		return fmt.Errorf("%w: %q is not https", ErrForbidden, u.Scheme)
	case u.User != nil:
		return fmt.Errorf("%w: it holds a name and a password", ErrForbidden)
	case u.Hostname() == "":
		return fmt.Errorf("%w: it names no host", ErrForbidden)
	}
	return nil
}

// redirect decides about the next hop.
func (c *client) redirect(next *http.Request, via []*http.Request) error {
	if len(via) > maxHops {
		return fmt.Errorf("%w: more than %d redirects", ErrForbidden, maxHops)
	}
	if err := c.check(next.URL); err != nil {
		return err
	}
	first := via[0].URL
	if next.URL.Host != first.Host {
		next.Header.Del("Authorization")
		host := next.URL.Hostname()
		listed := func(h string) bool { return h == host || strings.HasPrefix(h, ".") && strings.HasSuffix(host, h) }
		hosts := c.o.Redirects
		if first.Host == c.hub().Host {
			hosts = append(slices.Clone(hosts), hubHosts...)
		}
		if !slices.ContainsFunc(hosts, listed) {
			return fmt.Errorf("%w: a redirect to the host %q", ErrForbidden, host)
		}
	}
	return nil
}

func (c *client) hub() *url.URL {
	text := c.o.Hub
	if text == "" {
		text = defaultHub
	}
	u, err := url.Parse(text)
	if err != nil {
		return &url.URL{}
	}
	return u
}

// get asks until there is an answer that says something about the file. take reads the
// body; what it returns retryable is asked again.
func (c *client) get(ctx context.Context, u *url.URL, header http.Header, take func(*http.Response) error) error {
	if err := c.check(u); err != nil {
		return err
	}
	wait := firstWait
	for try := 1; ; try++ {
		err := c.once(ctx, u, header, take)
		again, ok := errors.AsType[*retryable](err)
		if !ok || try == attempts {
			return err
		}
		pause := time.NewTimer(max(again.after, wait/2+rand.N(wait)))
		select {
		case <-ctx.Done():
			pause.Stop()
			return context.Cause(ctx)
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

func (c *client) once(ctx context.Context, u *url.URL, header http.Header, take func(*http.Response) error) error {
	most := c.o.MaxRequests
	if most == 0 {
		most = maxRequests
	}
	if n := c.requests.Add(1); n > most {
		return fmt.Errorf("%w: %d requests, and no more are allowed", limits.ErrLimit, most)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	for k, v := range header {
		req.Header[k] = v
	}
	req.Header.Set("User-Agent", "anamnesis")
	if c.o.Token != "" && u.Host == c.hub().Host && u.Scheme == c.hub().Scheme {
		req.Header.Set("Authorization", "Bearer "+c.o.Token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if errors.Is(err, ErrForbidden) || ctx.Err() != nil {
			return err
		}
		return &retryable{err: err}
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500 {
		return &retryable{fmt.Errorf("%s: %s", u.Redacted(), resp.Status), retryAfter(resp)}
	}
	return take(resp)
}

// retryAfter is how long the server asks to wait, within reason.
func retryAfter(resp *http.Response) time.Duration {
	d, err := time.ParseDuration(resp.Header.Get("Retry-After") + "s")
	if err != nil || d < 0 {
		return 0
	}
	return min(d, 30*time.Second)
}

// read fills p from a body, and counts.
func (c *client) read(p []byte, body io.Reader) error {
	if n := c.bytes.Add(int64(len(p))); c.o.MaxBytes > 0 && n > c.o.MaxBytes {
		return fmt.Errorf("%w: %d bytes fetched, and no more are allowed", limits.ErrLimit, c.o.MaxBytes)
	}
	if _, err := io.ReadFull(body, p); err != nil {
		return &retryable{err: fmt.Errorf("the answer is cut: %w", err)}
	}
	return nil
}
