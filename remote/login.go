package remote

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
)

// login answers a registry's challenge with name and password, or with a token from the
// service that the challenge names.
// https://distribution.github.io/distribution/spec/auth/token/
func (r *registry) login(challenge string) error {
	scheme, rest, _ := strings.Cut(challenge, " ")
	host := r.base.Host
	switch strings.ToLower(scheme) {
	case "basic":
		basic, err := r.c.basic(host)
		if err != nil {
			return err
		}
		if basic == "" {
			return fmt.Errorf("the registry %s asks for a name and a password, which docker login stores", host)
		}
		r.auth = basic
		return nil
	case "bearer":
		return r.token(parameters(rest))
	}
	return fmt.Errorf("the registry %s asks for an unknown kind of login", host)
}

// basic returns the Authorization header for a host and port; "" if there is no password for
// them.
func (c *client) basic(host string) (string, error) {
	if c.o.Login == nil {
		return "", nil
	}
	name, password, err := c.o.Login(c.ctx, host)
	if err != nil || name == "" && password == "" {
		return "", err
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+password)), nil
}

// token fetches a token. The registry's password is sent only to a service of the registry
// itself; another service gets the password that is stored for its own host and port, if it
// uses https.
func (r *registry) token(p map[string]string) error {
	u, err := url.Parse(p["realm"])
	if err != nil {
		return fmt.Errorf("%w: the token service of the registry is not a URL", ErrForbidden)
	}
	q := url.Values{"scope": {"repository:" + strings.TrimPrefix(r.base.Path, "/v2/") + ":pull"}}
	if p["service"] != "" {
		q.Set("service", p["service"])
	}
	u.RawQuery = q.Encode()
	header := http.Header{}
	basic := ""
	if ownRealm(r.base, u) {
		basic, err = r.c.basic(r.base.Host)
	} else if u.Scheme == "https" {
		basic, err = r.c.basic(u.Host)
	}
	if err != nil {
		return err
	}
	if basic != "" {
		header.Set("Authorization", basic)
	}
	token, access := "", ""
	err = r.c.get(u, header, func(resp *http.Response) error {
		if resp.StatusCode != http.StatusOK {
			return refused(urlText(u), resp)
		}
		text, err := r.c.text(resp)
		if err != nil {
			return err
		}
		return r.c.document("token", text, func(d *strictjson.Decoder) error {
			return members(d, map[string]func() error{"token": into(d, &token), "access_token": into(d, &access)})
		})
	})
	if token = cmp.Or(token, access); err == nil && !isToken(token) {
		err = fmt.Errorf("%s: the answer has no token", urlText(u))
	}
	r.auth = "Bearer " + token
	return err
}

// isToken reports whether s is valid in a header.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// ownRealm reports whether a token service belongs to the registry: it has the same host and
// port, or, both at the port of https, a parent domain of the host, or is Docker's; and it uses
// https if the registry does.
func ownRealm(of, at *url.URL) bool {
	registry, realm := of.Hostname(), at.Hostname()
	if of.Scheme == "https" && at.Scheme != "https" {
		return false
	}
	if portOf(of) != portOf(at) {
		return false
	}
	if _, err := netip.ParseAddr(realm); err == nil || at.Scheme != "https" || portOf(at) != "443" {
		return realm == registry
	}
	return realm == registry || strings.Contains(realm, ".") && strings.HasSuffix(registry, "."+realm) ||
		registry == dockerRegistry && realm == "auth.docker.io"
}

// isLoopback reports whether host, with or without a port, is this machine.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// parameters parses comma-separated name="value" pairs.
func parameters(s string) map[string]string {
	out := map[string]string{}
	for s != "" {
		name, rest, ok := strings.Cut(s, "=")
		if !ok {
			break
		}
		name = strings.ToLower(strings.Trim(name, " ,"))
		value := ""
		if quoted, ok := strings.CutPrefix(rest, `"`); ok {
			value, s, _ = strings.Cut(quoted, `"`)
		} else {
			value, s, _ = strings.Cut(rest, ",")
		}
		out[name] = value
	}
	return out
}
