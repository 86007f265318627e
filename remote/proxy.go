package remote

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// proxyOf reads the address of a proxy, which may be without a scheme. One that is none
// stays one: what was to go through it does not go past it.
func proxyOf(value string) *url.URL {
	for _, text := range []string{value, "http://" + value} {
		if u, err := url.Parse(text); err == nil && usable(u) {
			return u
		}
	}
	return &url.URL{}
}

func usable(u *url.URL) bool {
	return u.Hostname() != "" && slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme)
}

// proxy says through which proxy a request goes.
func (c *client) proxy(req *http.Request) (*url.URL, error) {
	switch p := c.o.Proxy; {
	case p == nil || direct(c.o.NoProxy, req.URL):
		return nil, nil
	case !usable(p):
		return nil, fmt.Errorf("%w: the proxy is not an address of one", ErrForbidden)
	default:
		return p, nil
	}
}

// direct reports a host of a list as NO_PROXY has it: names, which stand for all below
// them too, addresses, ranges of addresses, each with or without a port, or a star.
func direct(list []string, u *url.URL) bool {
	host := strings.ToLower(u.Hostname())
	ip, err := netip.ParseAddr(host)
	isIP := err == nil
	for _, entry := range list {
		if name, port, err := net.SplitHostPort(entry); err == nil {
			if port != portOf(u) {
				continue
			}
			entry = name
		}
		entry = strings.TrimPrefix(strings.TrimPrefix(strings.ToLower(entry), "*"), ".")
		if prefix, err := netip.ParsePrefix(entry); err == nil && isIP && prefix.Contains(ip.Unmap()) {
			return true
		}
		if entry == "" || host == entry || !isIP && strings.HasSuffix(host, "."+entry) {
			return true
		}
	}
	return false
}

func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	return map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
}

// dial opens a connection: to the operator's own proxy, or to an address that is admitted.
func (c *client) dial(ctx context.Context, network, address string, held int) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: 20 * time.Second, Control: c.admit}
	if p := c.o.Proxy; p != nil && address == net.JoinHostPort(p.Hostname(), portOf(p)) {
		dialer.Control = nil
	}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if tcp, ok := conn.(*net.TCPConn); ok && held > 0 {
		_ = tcp.SetReadBuffer(held / 2) // of which Linux makes twice as much; what another system thinks of it only costs bytes
	}
	return &watched{conn}, nil
}
