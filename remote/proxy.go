package remote

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// proxyOf parses the address of a proxy, which may lack a scheme. An invalid address gives an
// invalid proxy, so that requests fail instead of bypassing the proxy.
func proxyOf(value string) *url.URL {
	if !strings.Contains(value, "://") {
		value = "http://" + value
	}
	if u, err := url.Parse(value); err == nil && usable(u) {
		return u
	}
	return &url.URL{}
}

func usable(u *url.URL) bool {
	return u.Hostname() != "" && slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme)
}

// proxy returns the proxy for a request, see [http.Transport.Proxy].
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

// bypassesProxy reports whether a list in the form of NO_PROXY contains the host of a URL. This
// machine is always contacted directly.
func bypassesProxy(list string, u *url.URL) bool {
	const some = "http://proxy.invalid"
	of := httpproxy.Config{HTTPProxy: some, HTTPSProxy: some, NoProxy: list}
	p, err := of.ProxyFunc()(u)
	return err == nil && p == nil
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
	if c.dialled != nil {
		c.dialled(conn, held)
	}
	return &idleConn{conn}, nil
}
