package podruntime

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace"
)

// keep reports whether a running container may continue. If not, it is killed, and restarted if its restart policy says
// so. Its restart rules do not apply, because there is no exit code yet.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, computePodActions.
func (p *planner) keep(c *v1.Container, cur *podstate.Container, kind string) bool {
	kill := Step{Grace: podspec.ContainerGracePeriod(p.Pod)}
	again := policyOf(p.Pod, c) != string(v1.RestartPolicyNever)
	var notBefore time.Time
	if changed(c, cur) {
		kill.Reason = "its definition changed"
		kill.Message = fmt.Sprintf("%s %s definition changed", kind, c.Name)
		again = true
	} else if probe, failed := p.failed(cur.ID); failed {
		kill.Reason = "its " + probe + " probe failed"
		kill.Message = fmt.Sprintf("%s %s failed %s probe", kind, c.Name, probe)
		kill.Grace = probeGrace(p.Pod, c, probe)
		if last := lastExited(p.Seen, c.Name); last != nil {
			notBefore = p.AfterKill(c)
		}
	} else if kind := p.resizeOf(c); kind == resizeRestart {
		kill.Reason = "its new resources need a restart"
		kill.Message = fmt.Sprintf("Container %s resize requires restart", c.Name)
		again = true
	} else {
		if kind == resizeUpdate {
			p.update(c, cur)
		}
		return true
	}
	if again && kind == "Container" && kill.Reason != "its new resources need a restart" {
		kill.Message += ", will be restarted"
	}
	p.Why = "container " + c.Name + ": " + kill.Reason
	killed := p.kill(cur, kill)
	if p.grow != nil {
		p.resized = append(p.resized, killed)
	}
	switch {
	case !again:
		p.ending++
		p.decide(c, cur, trace.VerdictKill, kill.Reason+" and restartPolicy is "+policyOf(p.Pod, c))
	case notBefore.After(p.Now):
		p.pending++
		p.backOff(c, cur, kill.Reason, notBefore)
	default:
		p.start(c, kill.Reason, killed)
	}
	return false
}

func (p *planner) failed(id string) (probe string, failed bool) {
	if p.Failed == nil {
		return "", false
	}
	return p.Failed(id)
}

// killUnknown kills containers that may run, so that no two run at once.
func (p *planner) killUnknown(cur *podstate.Container, kind string) []string {
	return []string{p.kill(cur, Step{
		Grace: podspec.ContainerGracePeriod(p.Pod), Reason: "its state is unknown",
		Message: kind + ` is in "unknown" state, try killing it before restart`,
	})}
}

// kill plans the termination of a container: its preStop hook, then the kill.
func (p *planner) kill(cur *podstate.Container, s Step) string {
	return addKill(&p.Plan, p.Pod, cur, s)
}

// lastExited returns the newest container of that name that has exited.
func lastExited(seen *podstate.Pod, name string) *podstate.Container {
	if seen == nil {
		return nil
	}
	for i := range seen.Containers {
		if c := &seen.Containers[i]; c.Name == name && c.State == podstate.Exited {
			return c
		}
	}
	return nil
}

// probeGrace returns the grace period of a container whose probe failed, in seconds.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, setTerminationGracePeriod.
func probeGrace(pod *v1.Pod, c *v1.Container, probe string) int64 {
	spec := c.LivenessProbe
	if probe == "startup" {
		spec = c.StartupProbe
	}
	if pod.DeletionGracePeriodSeconds == nil && spec != nil && spec.TerminationGracePeriodSeconds != nil {
		return *spec.TerminationGracePeriodSeconds
	}
	return podspec.ContainerGracePeriod(pod)
}
