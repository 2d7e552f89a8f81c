package metrics

import (
	"cmp"
	"strconv"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// maxPods limits the number of pods with state.
const maxPods = 4096

// pod is the state of one pod for the metrics.
type pod struct {
	seen    int64 // Unix nanoseconds; 0 if unknown
	synced  bool
	held    time.Duration     // by a person with step, since its last sync ended
	stepped bool              // it was held since it was seen
	init    map[string]bool   // names of init containers
	running bool              // its sandbox runs, according to the last status
	states  map[string]string // running or exited by container name, of the last status
	known   bool              // there was a status
}

func (s *Sink) pod(key trace.Pod) *pod {
	p := s.pods[key]
	if p == nil {
		if len(s.pods) >= maxPods {
			for old := range s.pods {
				delete(s.pods, old)
				break
			}
		}
		p = &pod{init: map[string]bool{}}
		s.pods[key] = p
	}
	return p
}

func (s *Sink) milestone(r *trace.Record, e *trace.Milestone) {
	switch e.Name {
	case trace.MilestoneSeen:
		p := s.pod(r.Pod)
		p.seen, p.synced, p.stepped, p.held = r.Time, false, false, 0
		if e.Spec != nil {
			s.containersPerPod.Observe(float64(len(e.Spec.Containers)))
			for _, c := range e.Spec.InitContainers {
				p.init[c.Name] = true
			}
		}
	case trace.MilestoneStarted:
		if p := s.pods[r.Pod]; p != nil && p.stepped {
			return // the time that a person took
		}
		if !e.Adopted && e.Since > 0 {
			s.podStart.Observe(e.Since.Seconds())
		}
	case trace.MilestoneGone:
		delete(s.pods, r.Pod)
		s.count()
	case trace.MilestoneReady, trace.MilestoneTerminating:
	}
}

// gate counts the time in which a person held the pod with step.
func (s *Sink) gate(r *trace.Record) {
	if p := s.pods[r.Pod]; p != nil && r.Dur > 0 {
		p.stepped = true
		p.held += r.Dur
	}
}

// status updates the gauges from a pod's status and counts containers that exited.
func (s *Sink) status(r *trace.Record, e *trace.PodStatus) {
	p := s.pod(r.Pod)
	was, known := p.states, p.known
	p.known, p.running = true, e.SandboxID != "" && (e.Phase == trace.PodPending || e.Phase == trace.PodRunning)
	p.states = map[string]string{}
	for _, c := range e.Containers {
		if c.Init {
			p.init[c.Name] = true
		}
		switch c.State {
		case trace.ContainerRunning:
			p.states[c.Name] = "running"
		case trace.ContainerTerminated:
			p.states[c.Name] = "exited"
			// Upstream: pkg/kubelet/status/status_manager.go, updateStatusInternal.
			if known && was[c.Name] != "exited" {
				s.terminatedContainers.WithLabelValues(p.kind(c.Name), s.exits.label(strconv.Itoa(int(c.ExitCode))), s.reasons.label(c.Reason)).Inc()
			}
		case trace.ContainerWaiting:
		}
	}
	s.count()
}

// count sets the gauges from the pods' last statuses.
func (s *Sink) count() {
	pods, states := 0, map[string]int{"running": 0, "exited": 0}
	for _, p := range s.pods {
		if p.running {
			pods++
		}
		for _, state := range p.states {
			states[state]++
		}
	}
	s.runningPods.Set(float64(pods))
	for state, n := range states {
		s.runningContainers.WithLabelValues(state).Set(float64(n))
	}
}

// kind returns upstream's container_type.
func (p *pod) kind(container string) string {
	if p.init[container] {
		return "init_container"
	}
	return "container"
}

// sync observes syncs. Upstream: pkg/kubelet/pod_workers.go, podWorkerLoop.
func (s *Sink) sync(r *trace.Record, e *trace.Sync) {
	if p := s.pods[r.Pod]; p != nil && !p.synced {
		p.synced = true
		if p.seen != 0 && r.Start() >= p.seen {
			s.podWorkerStart.Observe(time.Duration(r.Start() - p.seen).Seconds())
		}
	}
	if r.Edge != trace.EdgeEnd {
		return
	}
	took := r.Dur
	if p := s.pods[r.Pod]; p != nil {
		took, p.held = max(took-p.held, 0), 0
	}
	op := string(e.Why)
	switch e.Why {
	case trace.SyncRetry:
		op = "sync"
	case trace.SyncFinish:
		op = "terminated"
	case trace.SyncCreate, trace.SyncAgain, trace.SyncKill:
	}
	s.podWorkerDuration.WithLabelValues(op).Observe(took.Seconds())
}

// action counts attempts. An attempt to start a container ends when its image or creation fails, or when its start
// ends. Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, SyncPod.
func (s *Sink) action(r *trace.Record, e *trace.Action) {
	switch e.Verb {
	case trace.VerbSandbox:
		s.startedPods.Inc()
		if e.Err != "" {
			s.startedPodsErrors.Inc()
		}
	case trace.VerbImage, trace.VerbCreate, trace.VerbStart:
		if e.Verb != trace.VerbStart && e.Err == "" {
			return
		}
		kind := s.pod(r.Pod).kind(e.Container)
		s.startedContainers.WithLabelValues(kind).Inc()
		if e.Err != "" {
			s.startedContainersErrors.WithLabelValues(kind, cmp.Or(e.Code, "RunContainerError")).Inc()
		}
	case trace.VerbClaims:
		s.draPods.WithLabelValues("PrepareResources", strconv.FormatBool(e.Err != "")).Observe(r.Dur.Seconds())
	case trace.VerbReleaseClaims:
		s.draPods.WithLabelValues("UnprepareResources", strconv.FormatBool(e.Err != "")).Observe(r.Dur.Seconds())
	case trace.VerbCgroup, trace.VerbDirs, trace.VerbVolumes, trace.VerbPostStart, trace.VerbPreStop, trace.VerbResize, trace.VerbResizePod, trace.VerbKill, trace.VerbStopSandbox, trace.VerbRemove, trace.VerbRemoveSandbox, trace.VerbUnmount, trace.VerbRemoveCgroup, trace.VerbRemoveDirs:
	}
}
