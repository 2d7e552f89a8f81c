package probe

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/clock"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// Add starts the probes of a pod's containers as soon as they run. Adding a pod again has no effect, because probes
// cannot change. Previous is the last known status of the pod, nil for the pod's own: a container that was started or
// ready there, under an earlier agent, remains so until its probe says otherwise. For a static pod without a status,
// the status of the mirror pod is used, or the running containers.
//
// Upstream: pkg/kubelet/prober/prober_manager.go, AddPod and setReadyStateOnKubeletRestart.
func (p *Prober) Add(pod *v1.Pod, previous *v1.PodStatus) {
	if p.cfg.Afresh {
		previous = &v1.PodStatus{}
	} else if podspec.IsStatic(pod) && (previous == nil || previous.StartTime.IsZero()) {
		previous = p.adopted(pod)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	if previous == nil {
		previous = &pod.Status
	}
	pp, ok := p.pods[pod.UID]
	if ok {
		pp.pod = pod
	} else {
		pp = &podProbes{pod: pod, previous: previous}
		pp.containers = collect(pp)
		if len(pp.containers) == 0 {
			return
		}
		p.pods[pod.UID] = pp
	}
	if pod.DeletionTimestamp != nil {
		p.stop(pp)
	}
	p.look(pp)
}

// StopLiveness ends the startup and liveness probes of a pod that terminates. Readiness continues. A container that has
// not started by then does not become ready: its pod would be found by those who look for one that serves.
//
// Upstream: pkg/kubelet/prober/prober_manager.go, StopLivenessAndStartup.
func (p *Prober) StopLiveness(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pp := p.pods[uid]; pp != nil {
		p.stop(pp)
		p.look(pp)
	}
}

func (p *Prober) stop(pp *podProbes) {
	pp.ending = true
	for _, c := range pp.containers {
		for _, kind := range []Kind{Startup, Liveness} {
			if t := c.probes[kind]; t != nil {
				p.halt(t)
			}
		}
	}
}

// Remove removes a pod. Attempts in progress are canceled.
func (p *Prober) Remove(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remove(uid)
}

func (p *Prober) remove(uid types.UID) {
	pp := p.pods[uid]
	if pp == nil {
		return
	}
	delete(p.pods, uid)
	for _, c := range pp.containers {
		p.lose(c)
		delete(p.byID, c.id)
	}
}

// Changed reads the runtime's state of a pod again.
func (p *Prober) Changed(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pp := p.pods[uid]; pp != nil {
		p.look(pp)
	}
}

// Began reports that a container was started, before the runtime's own event arrives.
func (p *Prober) Began(uid types.UID, name, containerID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pp := p.pods[uid]
	if pp == nil {
		return
	}
	for _, c := range pp.containers {
		if c.spec.Name == name && c.id != bare(containerID) {
			p.adopt(c, bare(containerID), time.Now())
			c.told = time.Now()
		}
	}
}

// look adopts running containers and stops the probes of others.
func (p *Prober) look(pp *podProbes) {
	seen := p.cfg.Observer.Get(pp.pod.UID)
	for _, c := range pp.containers {
		if c.ahead(seen) {
			continue
		}
		newest := seen.Newest(c.spec.Name)
		switch {
		case newest == nil || newest.State != podstate.Running:
			p.lose(c)
		case newest.ID != c.id || !c.running:
			p.adopt(c, newest.ID, clock.Past(time.Now(), newest.StartedAt))
		}
	}
}

// ahead reports whether Began reported a newer container than the observation shows.
func (c *container) ahead(seen *podstate.Pod) bool {
	if c.told.IsZero() {
		return false
	}
	if mine := seen.Container(c.id); mine != nil {
		return mine.State == podstate.Created
	}
	return seen == nil || seen.At.Before(c.told)
}

// adopt starts the probes of a running container.
func (p *Prober) adopt(c *container, id string, began time.Time) {
	var known *v1.ContainerStatus
	if c.id == "" {
		known = before(c.pod.previous, c.spec.Name, id)
	}
	p.lose(c)
	delete(p.byID, c.id)
	p.byID[id] = c
	c.id, c.began, c.told, c.running = id, began, time.Time{}, true
	c.cpu = reading{at: began, begins: true}
	for _, t := range c.probes {
		if t != nil {
			t.reset(known)
		}
	}
	for _, t := range c.probes {
		if t != nil {
			p.first(t, time.Now(), began.Before(p.born))
		}
	}
}

// reset sets the initial result for a new container, or for one of an earlier agent.
func (t *target) reset(known *v1.ContainerStatus) {
	t.value, t.last, t.run, t.said, t.held, t.looks = t.kind.initial(), Unknown, 0, "", false, 0
	switch {
	case t.kind == Startup && known != nil && known.Started != nil && *known.Started:
		t.value, t.held = Success, true
	case t.kind == Readiness && known != nil && known.Ready:
		t.value = Success
	}
}

// lose stops the probes of a container that no longer runs.
func (p *Prober) lose(c *container) {
	c.running = false
	for _, t := range c.probes {
		if t == nil {
			continue
		}
		p.halt(t)
		if t.kind == Readiness {
			t.value = Failure
		}
	}
}
