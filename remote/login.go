package remote

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// login answers a registry's challenge with name and password, or with a token from the
// service that the challenge names.
// https://distribution.github.io/distribution/spec/auth/token/
func (r *registry) login(challenge string) error {
	scheme, rest, _ := strings.Cut(challenge, " ")
	host := r.base.Host
	basic := ""
	if r.c.o.Login != nil {
		if name, password, ok := r.c.o.Login(host); ok {
			basic = "Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+password))
		}
	}
	switch strings.ToLower(scheme) {
	case "basic":
		if basic == "" {
			return fmt.Errorf("the registry %s asks for a name and a password, which docker login stores", host)
		}
		r.auth = basic
		return nil
	case "bearer":
		return r.token(parameters(rest), basic)
	}
	return fmt.Errorf("the registry %s asks for an unknown kind of login", host)
}

// token fetches a token. The password is sent only to a service of the registry itself.
func (r *registry) token(p map[string]string, basic string) error {
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
	if basic != "" && ownRealm(r.base, u) {
		header.Set("Authorization", basic)
	}
	var answer struct {
		Token       string `json:"token"`
		AccessToken string `json:"access_token"`
	}
	err = r.c.get(u, header, func(resp *http.Response) error {
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", urlText(u), resp.Status)
		}
		text, err := r.c.text(resp)
		if err != nil {
			return err
		}
		return json.Unmarshal(text, &answer)
	})
	if answer.Token == "" {
		answer.Token = answer.AccessToken
	}
	if err == nil && answer.Token == "" {
		err = fmt.Errorf("%s: the answer has no token", urlText(u))
	}
	r.auth = "Bearer " + answer.Token
	return err
}

// ownRealm reports whether a token service belongs to the registry: it has the same host, a
// parent domain of it, or is Docker's; and it uses https if the registry does.
func ownRealm(of, at *url.URL) bool {
	registry, realm := of.Hostname(), at.Hostname()
	if of.Scheme == "https" && at.Scheme != "https" {
		return false
	}
	if _, err := netip.ParseAddr(realm); err == nil {
		return realm == registry
	}
	return realm == registry || strings.Contains(realm, ".") && strings.HasSuffix(registry, "."+realm) ||
		registry == "registry-1.docker.io" && realm == "auth.docker.io"
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
