package podruntime

import "github.com/kubeloupe/kubeloupe/agent/podstate"

// ephemeralContainers starts ephemeral containers that were never started. They never restart, and do not keep a pod
// running.
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
