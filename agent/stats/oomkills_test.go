package stats

import (
	"strings"
	"testing"
)

// One killed process counts once: for its container, and not for the pod, its tier and its sandbox above or beside. What is killed in the
// pod's own cgroup counts there.
func TestOneKillCountsOnce(t *testing.T) {
	for _, c := range allCgroups() {
		if c.v1() {
			continue // its counts are those of the cgroup itself
		}
		t.Run(c.name, func(t *testing.T) {
			s, _, root := c.on(t)
			box := withSandbox(t, s, &c, root)
			const killed = "oom 9\noom_kill 4\n"
			for at, own := range map[string]string{c.container: "oom 0\noom_kill 0\n", box: "oom_kill 0\n", c.pod: "oom_kill 3\n", c.tiers[0]: "oom_kill 0\n"} {
				at = strings.TrimPrefix(at, "/")
				write(t, root, map[string]string{at + "/memory.events": killed, at + "/memory.events.local": own})
			}
			got := scrape(t, s.ContainerMetrics())[oomKills]
			for at, want := range map[string]float64{c.container: 4, box: 0, c.pod: 3, c.tiers[0]: 0} {
				if m := find(got, map[string]string{"id": at}); m == nil || m.GetCounter().GetValue() != want {
					t.Errorf("%s has %v, want %g", at, m, want)
				}
			}
		})
	}
}
