package stats

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// The node's interfaces are those that cAdvisor reports.
func TestNodeInterfaces(t *testing.T) {
	s, _ := world(t)
	var list strings.Builder
	for _, name := range []string{"lo", "eth0", "veth12", "docker0", "nerdctl0", "Docker1", "cali99", "cni0", "flannel.1", "LO1"} {
		list.WriteString(name + ": 10 1 2 0 0 0 0 0 30 1 4 0 0 0 0 0\n")
	}
	write(t, s.cfg.Proc, map[string]string{"net/dev": list.String()})
	var got []string
	for _, i := range s.nodeNetwork(time.Now()).Interfaces {
		got = append(got, i.Name)
	}
	if !slices.Equal(got, []string{"eth0", "cali99", "cni0", "flannel.1"}) {
		t.Errorf("%q", got)
	}
}
