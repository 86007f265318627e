package host_test

import (
	"testing"

	"github.com/anamnesis-go/anamnesis/gate/host"
)

func TestAddressTenant(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.7:1234": "192.0.2.7", "[::ffff:192.0.2.7]:1": "192.0.2.7",
		"[2001:db8:1:2:3:4:5:6]:80": "2001:db8:1:2::/64", "[2001:db8:1:2::9]:81": "2001:db8:1:2::/64", "[fe80::1%eth0]:1": "fe80::/64",
		"@": "", "": "", "/run/x": "", "example.com:80": "",
	} {
		if got := host.AddressTenant(addr); got != want {
			t.Errorf("%s: %q, not %q", addr, got, want)
		}
	}
}
