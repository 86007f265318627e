package remote

import (
	"net/http"
	"time"
)

// Public is the rule of addresses, for tests.
var Public = public

// Sign signs a request at a time, for tests.
func Sign(req *http.Request, region, access, secret string, at time.Time) {
	k := key{region: region, access: access, secret: secret, now: func() time.Time { return at }}
	k.sign(req)
}
