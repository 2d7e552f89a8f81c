package stats

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kubeloupe/kubeloupe/agent/exposition"
)

// packetMetrics writes how many packets the interfaces of the node and of the pods sent and received. The runtime does not report them: they
// are in the network namespace of the pod's sandbox and containers.
func (s *Stats) packetMetrics(page *exposition.Page, all []entity) {
	lists := make([]map[string][]string, len(all))
	for i, x := range all {
		switch {
		case x.net == nil:
		case x.cgroup == top:
			lists[i] = s.interfaces("")
		default:
			// The sandbox of a pod and its containers follow it. Processes in the pod's own cgroup, as those of a virtual machine, may be in
			// another namespace.
			first := i
			if all[i-1].pod != x.pod {
				first++
			}
			for j := first; j < len(all) && all[j].pod == x.pod; j++ {
				if pid := all[j].figures.pid; pid != "" {
					lists[i] = s.interfaces(pid)
					break
				}
			}
		}
	}
	for _, m := range []struct {
		name, help string
		field      int
	}{
		{"container_network_receive_packets_total", "Cumulative count of packets received", 1},
		{"container_network_receive_packets_dropped_total", "Cumulative count of packets dropped while receiving", 3},
		{"container_network_transmit_packets_total", "Cumulative count of packets transmitted", 9},
		{"container_network_transmit_packets_dropped_total", "Cumulative count of packets dropped while transmitting", 11},
	} {
		page.Counter(m.name, m.help)
		for i, x := range all {
			if x.net == nil {
				continue
			}
			for _, one := range x.net.Interfaces { // no others: a container decides how many it has
				f := lists[i][one.Name]
				if len(f) <= m.field {
					continue
				}
				if n, err := strconv.ParseUint(f[m.field], 10, 64); err == nil {
					page.SampleOf(float64(n), x.net.Time.Time, x.labels, "interface", one.Name)
				}
			}
		}
	}
}

// interfaces returns the figures of the interfaces in a process' network namespace ("": the agent's), by name: 8 of what was received, then 8 of what was sent.
func (s *Stats) interfaces(pid string) map[string][]string {
	list, _ := text(filepath.Join(s.cfg.Proc, pid, "net/dev"))
	out := map[string][]string{}
	for line := range strings.Lines(list) {
		if name, rest, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			out[name] = strings.Fields(rest)
		}
	}
	return out
}
