package remote

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"syscall"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// ErrForbidden means that nothing may be fetched from an address.
var ErrForbidden error = wire.ErrForbidden.WithRule("")

// admit is a [net.Dialer.Control]: it rejects a resolved address that is not public, before a
// packet is sent to it.
func (c *client) admit(_, address string, _ syscall.RawConn) (err error) {
	if c.admitted != nil {
		defer func() {
			if err == nil {
				err = c.admitted(address)
			}
		}()
	}
	if c.o.AllowPrivate {
		return nil
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %s", ErrForbidden, address)
	}
	if !public(at.Addr()) {
		return fmt.Errorf("%w: %s is not a public address", ErrForbidden, at.Addr())
	}
	return nil
}

// globalUnicast is the part of IPv6 that IANA has assigned for global unicast. Everything else is
// special or unassigned, including IPv4 addresses that are embedded after zeros.
var globalUnicast = netip.MustParsePrefix("2000::/3")

// specialRanges are special ranges for which netip has no method: shared addresses of providers,
// benchmarks, documentation, reserved addresses, relays and addresses with an embedded IPv4
// address (IANA's registries of special addresses); and the public address of Azure's
// metadata service.
var specialRanges = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("168.63.129.16/32"),
	netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("3fff::/20"),
}

func public(ip netip.Addr) bool {
	ip = ip.Unmap()
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.Is6() && !globalUnicast.Contains(ip) {
		return false
	}
	return !slices.ContainsFunc(specialRanges, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// check rejects a URL by its text.
func (c *client) check(u *url.URL) error {
	switch {
	case u.Scheme != "https" && !(u.Scheme == "http" && c.o.AllowPrivate):
		return fmt.Errorf("%w: %q is not https", ErrForbidden, u.Scheme)
	case u.User != nil:
		return fmt.Errorf("%w: it contains a name and a password", ErrForbidden)
	case u.Hostname() == "":
		return fmt.Errorf("%w: it names no host", ErrForbidden)
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !c.o.AllowPrivate && !public(ip) {
		return fmt.Errorf("%w: %s is not a public address", ErrForbidden, ip)
	}
	return nil
}
