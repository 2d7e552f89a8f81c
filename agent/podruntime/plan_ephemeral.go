package podruntime

import "github.com/kubeloupe/kubeloupe/agent/podstate"

// ephemeralContainers starts those that have never been started. They never start again, and they
// do not keep a pod.
func (p *planner) ephemeralContainers() {
	for i := range p.Pod.Spec.EphemeralContainers {
		c := ephemeral(&p.Pod.Spec.EphemeralContainers[i])
		running, pending := p.running, p.pending
		switch cur := p.Seen.Newest(c.Name); {
		case cur == nil:
			p.start(c, "ephemeral container")
		case cur.State == podstate.Created && cur.SandboxID == p.sandbox.ID:
			p.startCreated(c, cur)
		}
		p.running, p.pending, p.lastStart = running, pending, ""
	}
}
