package remote

import (
	"net/http"
	"time"

	"github.com/anamnesis-go/anamnesis/limits"
)

// Public is the rule of addresses, for tests.
var Public = public

// Sign signs a request at a time, for tests.
func Sign(req *http.Request, region, access, secret string, at time.Time) {
	k := key{region: region, access: access, secret: secret, now: func() time.Time { return at }}
	k.sign(req)
}

// Redirect is the rule of redirects, for tests.
func Redirect(b *limits.Budget, o Options, next *http.Request, via []*http.Request) error {
	return newClient(b, o).redirect(next, via)
}

// Direct is which hosts are asked without a proxy, for tests.
var Direct = bypassesProxy

// OwnRealm is where passwords go, for tests.
var OwnRealm = ownRealm
