package remote

import (
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// Patience shortens how long a server may send nothing, until the test ends.
func Patience(t *testing.T, d time.Duration) {
	with(t, func(c *client) { c.patience = d })
}

// Dialled calls f with each address that passed the check and is about to be dialled, and uses a
// resolver, until the test ends.
func Dialled(t *testing.T, r *net.Resolver, f func(address string) error) {
	with(t, func(c *client) { c.resolver, c.admitted, c.wait = r, f, time.Millisecond })
}

// Connected calls f with each new connection and how much it may buffer, until the test ends.
func Connected(t *testing.T, f func(conn net.Conn, held int)) {
	with(t, func(c *client) { c.dialled = f })
}

func with(t *testing.T, f func(*client)) {
	configure = f
	t.Cleanup(func() { configure = nil })
}

// Public is the rule of addresses, for tests.
var Public = public

// Sign signs a request at a time, for tests.
func Sign(req *http.Request, region, access, secret string, at time.Time) {
	k := key{region: region, keys: credentials.NewStaticCredentialsProvider(access, secret, ""), now: func() time.Time { return at }}
	if err := k.sign(req); err != nil {
		panic(err)
	}
}

// Redirect is the rule of redirects, for tests.
func Redirect(b *limits.Budget, o Options, next *http.Request, via []*http.Request) error {
	return newClient(b, o).redirect(next, via)
}

// Direct reports whether a host is reached without a proxy, for tests.
var Direct = bypassesProxy

// Through returns the proxy for a URL, for tests.
func Through(b *limits.Budget, o Options, u *url.URL) (*url.URL, error) {
	return newClient(b, o).proxy(&http.Request{URL: u})
}

// OwnRealm is where passwords go, for tests.
var OwnRealm = ownRealm

// Window is how much a server may send ahead of the reader of a header.
const Window = window
