package agent

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/agent/config"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// --node-ip decides which family is first in the addresses of pods, and not the address that the machine has.
func TestPodFamily(t *testing.T) {
	for _, c := range []struct {
		configured []string
		want       podstate.Family
	}{
		{nil, podstate.IPv4},
		{[]string{"192.0.2.1", "2001:db8::1"}, podstate.IPv4},
		{[]string{"2001:db8::1", "192.0.2.1"}, podstate.IPv6},
		{[]string{"::"}, podstate.IPv6},
	} {
		p := &parts{cfg: Config{Kubelet: &config.Config{}}, host: machine{addresses: &addresses{own: []string{"2001:db8::9"}}}}
		p.cfg.Kubelet.Node.IPs = c.configured
		if got := p.podFamily(); got != c.want {
			t.Errorf("%q: IPv6 first %t, want %t", c.configured, got, c.want)
		}
	}
}
