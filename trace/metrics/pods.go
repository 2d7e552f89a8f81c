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
	app     int               // its app containers; 0 if unknown
	held    time.Duration     // by a person with step, since its last sync ended
	stepped bool              // it was held since it was seen
	init    map[string]bool   // names of init containers
	running bool              // its sandbox runs, according to the last status
	states  map[string]string // running or exited by container name, of the last status
	exits   map[string]string // the last exits by container name, that each counts once
	known   bool              // there was a status
	volumes int64             // when its volumes were requested; 0 if they are there
	userns  bool              // it has a user namespace
	ending  bool              // its termination was requested
	birth   *birth            // of its start; nil if that is over, or not known
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
		p = &pod{exits: map[string]string{}, init: map[string]bool{}}
		s.pods[key] = p
	}
	return p
}

func (s *Sink) milestone(r *trace.Record, e *trace.Milestone) {
	switch e.Name {
	case trace.MilestoneSeen:
		p := s.pod(r.Pod)
		p.seen, p.synced, p.stepped, p.held = r.Time, false, false, 0
		p.birth = born(e)
		if e.Spec != nil {
			p.userns = e.Spec.UserNamespace
			p.app = len(e.Spec.Containers)
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
	case trace.MilestoneTerminating:
		if e.Adopted {
			s.more.orphans.Inc()
		}
	case trace.MilestoneReady:
	}
}

// volumesWanted notes since when a pod waits for its volumes.
func (s *Sink) volumesWanted(r *trace.Record, e *trace.Action) {
	p := s.pods[r.Pod]
	switch {
	case p == nil:
	case r.Edge == trace.EdgeEnd && e.Err == "":
		p.volumes = 0
	case p.volumes == 0:
		p.volumes = r.Start()
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
	known := p.known
	p.known, p.running = true, e.SandboxID != "" && (e.Phase == trace.PodPending || e.Phase == trace.PodRunning)
	p.states = map[string]string{}
	for i := range e.Containers {
		c := &e.Containers[i]
		if c.Init {
			p.init[c.Name] = true
		}
		switch c.State {
		case trace.ContainerRunning:
			p.states[c.Name] = "running"
		case trace.ContainerTerminated:
			p.states[c.Name] = "exited"
			s.exit(p, known, c, &trace.ContainerExit{ID: c.ID, Finished: c.Finished, ExitCode: c.ExitCode, Reason: c.Reason})
		case trace.ContainerWaiting:
		}
		if c.Last != nil && c.State != trace.ContainerTerminated { // no status had the exit itself if the container waits or runs again at once
			s.exit(p, known, c, c.Last)
		}
	}
	s.count()
}

// exit counts how a container exited, once; of a pod that was not known, what is there already does not count.
//
// Upstream: pkg/kubelet/status/status_manager.go, updateStatusInternal.
func (s *Sink) exit(p *pod, known bool, c *trace.ContainerStatus, e *trace.ContainerExit) {
	if len(p.exits) >= mostExits {
		clear(p.exits)
	}
	id := e.ID + e.Finished.String()
	if p.exits[c.Name] == id {
		return
	}
	p.exits[c.Name] = id
	if known {
		s.terminatedContainers.WithLabelValues(p.kind(c.Name, c.Ephemeral), s.exits.label(strconv.Itoa(int(e.ExitCode))), s.reasons.label(e.Reason)).Inc()
	}
}

// mostExits limits the containers of a pod whose last exits are kept.
const mostExits = 512

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
func (p *pod) kind(container string, ephemeral bool) string {
	switch {
	case ephemeral:
		return "ephemeral_container"
	case p.init[container]:
		return "init_container"
	}
	return "container"
}

// sync observes syncs. Upstream: pkg/kubelet/pod_workers.go, podWorkerLoop.
func (s *Sink) sync(r *trace.Record, e *trace.Sync) {
	if p := s.pods[r.Pod]; p != nil && !p.synced {
		p.synced = true
		s.firstSync(r, e, p)
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

// firstSync observes the first sync of a pod. A rejected pod has none; one that only terminates, or has finished, does not start.
//
// Upstream: pkg/kubelet/pod_workers.go, startPodSync; pkg/kubelet/kubelet.go, SyncPod.
func (s *Sink) firstSync(r *trace.Record, e *trace.Sync, p *pod) {
	if p.app > 0 {
		s.containersPerPod.Observe(float64(p.app))
	}
	if starts := e.Why != trace.SyncKill && e.Why != trace.SyncFinish; starts && p.seen != 0 && r.Start() >= p.seen {
		s.podWorkerStart.Observe(time.Duration(r.Start() - p.seen).Seconds())
	}
}

// worker notes whether the pod is to terminate.
func (s *Sink) worker(r *trace.Record, e *trace.Worker) {
	if p := s.pods[r.Pod]; p != nil {
		p.ending = e.To != trace.WorkerSyncing
	}
}

// sandbox counts an attempt to create a sandbox. One that fails because its pod was deleted meanwhile is no error.
func (s *Sink) sandbox(r *trace.Record, e *trace.Action) {
	p := s.pods[r.Pod]
	failed := e.Err != "" && (p == nil || !p.ending)
	s.startedPods.Inc()
	if failed {
		s.startedPodsErrors.Inc()
	}
	if p == nil || !p.userns {
		return
	}
	s.more.userns.Inc()
	if failed {
		s.more.usernsErrors.Inc()
	}
}

// action counts attempts. An attempt to start a container ends when its image or creation fails, or when its start
// ends. Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, SyncPod.
func (s *Sink) action(r *trace.Record, e *trace.Action) {
	switch e.Verb {
	case trace.VerbSandbox:
		s.sandbox(r, e)
	case trace.VerbImage, trace.VerbCreate, trace.VerbStart:
		if e.Verb != trace.VerbStart && e.Err == "" {
			return
		}
		kind := s.pod(r.Pod).kind(e.Container, e.Ephemeral)
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
