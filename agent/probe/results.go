package probe

import (
	v1 "k8s.io/api/core/v1"
)

// Failed reports whether a container's startup or liveness probe reached its failure threshold, which of them ("startup",
// "liveness") and its last output. This does not change until the container is replaced, or its pod terminates.
func (p *Prober) Failed(containerID string) (probe, message string, failed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.byID[bare(containerID)]
	if c == nil || c.pod.ending {
		return "", "", false
	}
	for _, kind := range []Kind{Startup, Liveness} {
		if t := c.probes[kind]; t != nil && t.value == Failure {
			return kind.String(), t.said, true
		}
	}
	return "", "", false
}

// Started reports whether a running container's startup probe has succeeded, true if it has none.
//
// Upstream: pkg/kubelet/prober/prober_manager.go, isContainerStarted.
func (p *Prober) Started(pod *v1.Pod, c *v1.Container, containerID string) bool {
	if c.StartupProbe == nil {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.byID[bare(containerID)]; known != nil && known.probes[Startup] != nil {
		return known.probes[Startup].value == Success
	}
	old := before(p.previous(pod), c.Name, bare(containerID))
	return old != nil && old.Started != nil && *old.Started
}

// Ready reports whether a running container is ready, according to its probes: started, and its readiness probe, if
// any, succeeds.
//
// Upstream: pkg/kubelet/prober/prober_manager.go, UpdatePodStatus.
func (p *Prober) Ready(pod *v1.Pod, c *v1.Container, containerID string) bool {
	if !p.Started(pod, c, containerID) {
		return false
	}
	if c.ReadinessProbe == nil {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.byID[bare(containerID)]; known != nil && known.probes[Readiness] != nil {
		return known.probes[Readiness].value == Success
	}
	old := before(p.previous(pod), c.Name, bare(containerID))
	return old != nil && old.Ready
}

// previous returns the status from before the pod was added. Called with mu.
func (p *Prober) previous(pod *v1.Pod) *v1.PodStatus {
	if pp := p.pods[pod.UID]; pp != nil {
		return pp.previous
	}
	if p.cfg.Afresh {
		return &v1.PodStatus{}
	}
	return &pod.Status
}
