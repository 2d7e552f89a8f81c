package podstate

import (
	"strings"
	"testing"
)

func TestPodIPs(t *testing.T) {
	for _, c := range []struct{ ips, configured, want string }{
		{"", "", ""},
		{"10.0.0.5", "", "10.0.0.5"},
		{"fd00::5", "192.0.2.1", "fd00::5"},
		{"fd00::5 10.0.0.5", "", "10.0.0.5 fd00::5"},
		{"fd00::5 10.0.0.5", "192.0.2.1 2001:db8::1", "10.0.0.5 fd00::5"},
		{"10.0.0.5 fd00::5", "2001:db8::1 192.0.2.1", "fd00::5 10.0.0.5"},
		{"10.0.0.5 fd00::5", "::", "fd00::5 10.0.0.5"},
		{"fd00::5 10.0.0.5", "0.0.0.0", "10.0.0.5 fd00::5"},
		{"10.0.0.5 fd00::5", "::ffff:192.0.2.1", "10.0.0.5 fd00::5"},
		{"x fd00:0::5 fd00::6 10.0.0.5 10.0.0.6", "192.0.2.1", "10.0.0.5 fd00::5"},
		{"::ffff:10.0.0.5 fd00::5", "192.0.2.1", "10.0.0.5 fd00::5"},
	} {
		if got := strings.Join(PodIPs(strings.Fields(c.ips), FamilyOf(strings.Fields(c.configured))), " "); got != c.want {
			t.Errorf("%q with --node-ip %q: %q, want %q", c.ips, c.configured, got, c.want)
		}
	}
}
