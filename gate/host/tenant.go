package host

import "net/netip"

// AddressTenant returns the name of the tenant with an address, given as host and port: the IPv4
// address, or the first 64 bits of an IPv6 address, since one owner has all addresses of such a
// network. It is "" for any other address, such as that of a Unix socket.
func AddressTenant(addr string) string {
	a, err := netip.ParseAddrPort(addr)
	if err != nil {
		return ""
	}
	ip := a.Addr().Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	net, err := ip.Prefix(64)
	if err != nil {
		return ""
	}
	return net.String()
}
