package host

import "net/netip"

// AddressTenant names the tenant of clients that only their address distinguishes, given as host
// and port: the IPv4 address, or the network of 64 bits of an IPv6 address, since its owner has all
// addresses of it. It is "" for any other address, such as that of a Unix socket.
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
