package model

import (
	"cmp"
	"container/list"
	"maps"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/store"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

// Pod is the known state of one pod.
//
// Many fields: one for each value that views show of a pod.
type Pod struct {
	Key   trace.Pod
	First time.Time // of its records
	Last  time.Time // of its records
	Spec  *trace.PodSpec
	// Labels are those that it had when it was seen; nil if they are unknown.
	Labels *trace.Labels
	QoS    trace.QoSClass // "" if unknown
	// StatusAt is when the status below was published; zero: nothing is known of it.
	StatusAt   time.Time
	Phase      trace.PodPhase // "" if unknown
	Reason     string
	Message    string
	Ready      int
	Total      int
	Restarts   int
	IP         string
	SandboxID  string
	Containers []trace.ContainerStatus

	Start       Start
	Worker      Worker
	Actions     []Action // running, oldest first
	Waits       []Wait   // current, oldest first
	Pulls       []Pull   // current, oldest first
	Plan        *trace.Plan
	PlanAt      time.Time
	Backoff     Backoff
	Terminating time.Time // zero: not yet
	Gone        time.Time // zero: not yet
}

// Action is a running step of a plan.
type Action struct {
	ID, Verb, Container, Target, Reason string
	Since                               time.Time
	Uncertain                           bool // its end may have been lost
}

// Wait is a wait of the pod.
type Wait struct {
	trace.Wait
	Since     time.Time
	Uncertain bool
}

// On returns the target of the wait.
func (w *Wait) On() string { return say.On(&w.Wait) }

// Text returns a description without the duration.
func (w *Wait) Text() string { return say.Wait(&w.Wait, w.Since.UnixNano()) }

// Detail returns further data.
func (w *Wait) Detail() string { return say.Detail(&w.Wait, w.Since.UnixNano()) }

// Pull is a running pull of an image.
type Pull struct {
	Image     string
	Since     time.Time // zero: began before the first record
	Done      int64     // bytes
	Total     int64     // bytes; 0 if unknown
	Source    trace.ProgressSource
	At        time.Time // of the last progress; zero: none yet
	Uncertain bool
}

// Backoff is a delay after failures.
type Backoff struct {
	trace.Wait
	Since time.Time // zero: no back-off
	// Until is when it ends, according to the wait or, if that does not say it, to the last decision by backoff or restart; zero if
	// unknown.
	Until time.Time
}

// On returns what is retried then.
func (b *Backoff) On() string { return say.On(&b.Wait) }

// Detail returns further data.
func (b *Backoff) Detail() string { return say.Detail(&b.Wait, b.Since.UnixNano()) }

// Active reports whether the pod is backing off.
func (b Backoff) Active() bool { return !b.Since.IsZero() }

// State is a pod's state in one word, for lists and counts.
type State string

// The states of a pod.
const (
	StateUnknown     State = "unknown" // no record had enough data
	StateStarting    State = "starting"
	StateBackingOff  State = "backing off"
	StateNotReady    State = "not ready" // started, but not all containers are ready
	StateReady       State = "ready"
	StateStarted     State = "started"   // its readiness is unknown
	StateCompleted   State = "completed" // phase Succeeded
	StateFailed      State = "failed"    // phase Failed
	StateTerminating State = "terminating"
	StateGone        State = "gone"
)

// State returns the pod's state in one word.
func (p *Pod) State() State {
	switch {
	case !p.Gone.IsZero():
		return StateGone
	case !p.Terminating.IsZero() && (p.Worker.State != trace.WorkerTerminated || p.over() == ""):
		return StateTerminating
	case p.over() != "":
		return p.over()
	case p.Backoff.Active(), p.backingOff():
		return StateBackingOff
	case !p.StatusAt.IsZero() && p.Total > 0 && p.Ready >= p.Total:
		return StateReady
	case !p.Start.Ready.IsZero() && p.StatusAt.IsZero():
		return StateReady
	case !p.Start.Started.IsZero() && p.Start.Final && p.StatusAt.IsZero():
		return StateStarted
	case !p.Start.Started.IsZero():
		return StateNotReady
	case !p.Start.Seen.IsZero(), p.Phase == trace.PodPending:
		return StateStarting
	case p.Phase == trace.PodRunning:
		return StateNotReady
	}
	return StateUnknown
}

// over returns how the pod finished, "" if it has not.
func (p *Pod) over() State {
	switch p.Phase {
	case trace.PodSucceeded:
		return StateCompleted
	case trace.PodFailed:
		return StateFailed
	case trace.PodPending, trace.PodRunning:
	}
	return ""
}

// backingOff reports whether a container waits in one of Kubernetes' back-offs.
func (p *Pod) backingOff() bool {
	for i := range p.Containers {
		if c := &p.Containers[i]; c.State == trace.ContainerWaiting &&
			(c.Reason == "CrashLoopBackOff" || c.Reason == "ImagePullBackOff") {
			return true
		}
	}
	return false
}

// Counts has the number of pods in each state. Total omits those that are gone.
type Counts struct {
	Total, Ready, NotReady, Starting, BackingOff, Terminating, Completed, Failed, Unknown int
}

// pod is a Pod being folded.
type pod struct {
	Pod
	order     uint64
	actions   map[trace.SpanID]*Action
	waits     waits
	pulls     map[trace.SpanID]*Pull
	volumes   map[string]*volume
	written   *written
	probes    map[probeKey]*Probe
	syncs     map[trace.SpanID]*Sync
	heard     *list.Element // in Model.heard
	weight    int           // its size in bytes, as last weighed
	retryAt   time.Time
	run       *store.PodRun // the latest; nil for a pod without a name
	start     *store.PodRun // the run of its start
	recording bool          // its start continues, or its status is not in the API yet
	unseen    bool          // it had started before the first record
	ready     uint64        // number of the record with which it was ready
	until     uint64        // number of the last record of its start
	// next is the seen milestone of the same pod's next run while this one terminates:
	// a static pod keeps its UID.
	next *store.Item
}

func (m *Model) podFor(key trace.Pod) *pod {
	p := m.pods[key]
	if p == nil {
		if len(m.pods) >= m.opt.Pods {
			m.dropQuietest()
		}
		p = m.newPod(key)
	}
	if p.run == nil { // late spans of the runtime begin no run
		p.run = m.kept.Run(key)
		p.start = p.run
	}
	p.Last = m.node.Last
	m.heard.MoveToBack(p.heard)
	return p
}

func (m *Model) newPod(key trace.Pod) *pod {
	p := &pod{
		order:   m.node.Records,
		actions: map[trace.SpanID]*Action{}, waits: newWaits(),
		pulls: map[trace.SpanID]*Pull{},
		syncs: map[trace.SpanID]*Sync{}, recording: true,
	}
	p.Key, p.First = key, m.node.Last
	m.pods[key], p.heard = p, m.heard.PushBack(p)
	return p
}

// dropQuietest removes the least recently updated pod, and returns its weight.
func (m *Model) dropQuietest() int {
	quiet, ok := m.heard.Front().Value.(*pod)
	if !ok {
		return 0
	}
	m.remove(quiet)
	m.kept.Forget(quiet.Key)
	return quiet.weight
}

// remove removes a pod.
func (m *Model) remove(p *pod) {
	delete(m.pods, p.Key)
	m.heard.Remove(p.heard)
}

// Pods returns the pods that are not gone, in the order in which they were first seen.
func (m *Model) Pods() []Pod {
	return m.list(func(p *pod) bool { return p.Gone.IsZero() })
}

// GonePods returns the last pods that are gone, in the order in which they were first seen.
func (m *Model) GonePods() []Pod {
	return m.list(func(p *pod) bool { return !p.Gone.IsZero() })
}

// Pod returns one pod, including one that is gone but still kept.
func (m *Model) Pod(key trace.Pod) (Pod, bool) {
	p := m.pods[key]
	if p == nil {
		return Pod{}, false
	}
	return p.view(), true
}

// Counts returns the number of pods in each state.
func (m *Model) Counts() Counts {
	var c Counts
	for _, p := range m.pods {
		switch p.State() {
		case StateReady:
			c.Ready++
		case StateNotReady:
			c.NotReady++
		case StateStarting:
			c.Starting++
		case StateBackingOff:
			c.BackingOff++
		case StateTerminating:
			c.Terminating++
		case StateCompleted:
			c.Completed++
		case StateFailed:
			c.Failed++
		case StateUnknown, StateStarted:
			c.Unknown++
		case StateGone:
			continue
		}
		c.Total++
	}
	return c
}

func (m *Model) list(want func(*pod) bool) []Pod {
	found := make([]*pod, 0, len(m.pods))
	for _, p := range m.pods {
		if want(p) {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b *pod) int { return cmp.Compare(a.order, b.order) })
	out := make([]Pod, 0, len(found))
	for _, p := range found {
		out = append(out, p.view())
	}
	return out
}

// view returns a copy with its lists filled in.
func (p *pod) view() Pod {
	v := p.Pod
	v.Containers = slices.Clone(p.Containers)
	v.Actions = values(p.actions, func(a Action) time.Time { return a.Since })
	v.Waits = p.waits.now()
	v.Pulls = values(p.pulls, func(p Pull) time.Time { return p.Since })
	v.Worker = p.worker()
	v.Start.Segments = slices.Clone(p.Start.Segments)
	return v
}

// values returns copies of a map's values, oldest first.
func values[T any](in map[trace.SpanID]*T, since func(T) time.Time) []T {
	found := make([]*T, 0, len(in)) // addresses: to sort values would link the sort for each type
	for _, id := range slices.Sorted(maps.Keys(in)) {
		found = append(found, in[id])
	}
	slices.SortStableFunc(found, func(a, b *T) int { return since(*a).Compare(since(*b)) })
	out := make([]T, 0, len(in))
	for _, v := range found {
		out = append(out, *v)
	}
	return out
}
