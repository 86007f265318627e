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

// proxyOf parses the address of a proxy, which may lack a scheme. An invalid address gives an
// invalid proxy, so that requests fail instead of bypassing the proxy.
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

// proxy is an [http.Transport.Proxy].
func (c *client) proxy(req *http.Request) (*url.URL, error) {
	switch p := c.o.Proxy; {
	case p == nil || bypassesProxy(c.o.NoProxy, req.URL):
		return nil, nil
	case !usable(p):
		return nil, fmt.Errorf("%w: the address of the proxy is invalid", ErrForbidden)
	default:
		return p, nil
	}
}

// bypassesProxy reports whether a list in the form of NO_PROXY has the host of a URL: names, which
// also stand for all hosts below them, addresses, ranges of addresses, each with or without a
// port, or a star.
func bypassesProxy(list []string, u *url.URL) bool {
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

// dial opens a connection to the proxy, or to an address that admit accepts.
func (c *client) dial(ctx context.Context, network, address string, held int) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: 20 * time.Second, Control: c.admit, Resolver: c.resolver}
	if p := c.o.Proxy; p != nil && address == net.JoinHostPort(p.Hostname(), portOf(p)) {
		dialer.Control = nil
	}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if tcp, ok := conn.(*net.TCPConn); ok && held > 0 {
		_ = tcp.SetReadBuffer(held / 2) // Linux doubles it; if it fails, more bytes arrive in vain
	}
	return &idleConn{conn}, nil
}
