package worker

import (
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// State is the state of a pod's worker.
//
//	                 ┌──────────── update, wake ───────────┐
//	                 ▼                                     │
//	(none) ──▶ syncing ── end asked, pod over ──▶ terminating ── stopped ──▶ terminated
//	                                                 ▲     │                    │
//	                                                 └─────┘                 cleaned
//	                                          shorter grace: again              ▼
//	                                                                          (gone)
type State = trace.WorkerState

// The states. Upstream: pkg/kubelet/pod_workers.go, PodWorkerState.
const (
	None        = trace.WorkerNone
	Syncing     = trace.WorkerSyncing
	Terminating = trace.WorkerTerminating
	Terminated  = trace.WorkerTerminated
	Gone        = trace.WorkerGone
)

// Work is one thing to do for a pod.
type Work struct {
	// State is whose work it is: Syncing, Terminating or Terminated.
	State State
	Pod   *v1.Pod
	// Grace overrides the pod's own grace period, in seconds; nil leaves it.
	Grace *int64
	// Reason says why a pod ends.
	Reason string
	// Remove says that the pod is no longer in its source, so nothing of it may remain.
	Remove bool
	// Causes are the requests for work since the last time, the first one first.
	Causes []Cause
}

// Ask is a request to a worker.
type Ask struct {
	// Pod is the newest spec; nil keeps the known one.
	Pod *v1.Pod
	// End requests the termination of the pod.
	End bool
	// Grace overrides the pod's grace period for End, in seconds.
	Grace *int64
	// Remove says that the pod is gone from its source.
	Remove bool
	// Reason says why, for End.
	Reason string
	Cause  Cause
}

// due says how much a pod wants to be worked on.
type due uint8

const (
	rest  due = iota // nothing to do
	woken            // something of it stirred: a failure may keep it waiting
	asked            // somebody wants something, or there is a next state: now
)

// machine is the state of one worker. It has no clock, no lock and no goroutine.
type machine struct {
	state  State
	pod    *v1.Pod
	grace  *int64
	reason string
	remove bool
	due    due
	causes []Cause
	// again is a pod that was requested again, under the same UID, while this one went.
	again *Ask
}

// ask merges a request. It reports whether work that is under way should be
// cut short: a pod that ends need not finish starting, a shorter grace period counts at once.
func (m *machine) ask(a Ask) (interrupt bool) {
	if m.state == None {
		m.state = Syncing
	}
	if m.remove {
		if !a.End {
			m.anew(a)
			return false
		}
		m.again = nil
	}
	if a.Pod != nil && m.state == Syncing {
		m.pod = a.Pod
	}
	if m.pod == nil {
		m.pod = a.Pod
	}
	m.due = asked
	m.causes = append(m.causes, a.Cause)
	m.remove = m.remove || a.Remove
	if !a.End {
		return false
	}
	switch {
	case m.state == Syncing:
		m.state, m.reason, m.grace = Terminating, a.Reason, a.Grace
		return true
	case m.state == Terminating && a.Grace != nil && *a.Grace < podspec.GracePeriod(m.pod, m.grace):
		m.grace = a.Grace
		return true
	}
	return false
}

// again keeps what is asked of a pod that is on its way out, for its next life.
// What has no spec says nothing of a next life.
func (m *machine) anew(a Ask) {
	if a.Pod == nil && m.again != nil {
		a.Pod = m.again.Pod
	}
	if a.Pod != nil {
		m.again = &a
	}
}

// pressing reports whether the next work may not wait until a failed one is tried again.
func (m *machine) pressing() bool { return m.due == asked }

// next returns what to do now; false when the worker is at rest.
func (m *machine) next() (Work, bool) {
	if m.due == rest || m.state == None || m.state == Gone {
		return Work{}, false
	}
	w := Work{State: m.state, Pod: m.pod, Grace: m.grace, Reason: m.reason, Remove: m.remove, Causes: m.causes}
	m.due, m.causes = rest, nil
	return w, true
}

// finish takes the result of work that was handed out. over says that the pod has
// come to its end by itself. Trying failed work again is left to the caller's timer.
func (m *machine) finish(w Work, over, failed bool) {
	if w.State != m.state {
		m.due = asked // it moved on meanwhile
		return
	}
	switch m.state {
	case Syncing:
		if over {
			m.state, m.reason, m.due = Terminating, "all containers have ended", asked
		}
	case Terminating:
		if !failed {
			m.state, m.due = Terminated, asked
		}
	case Terminated:
		if !failed {
			if m.remove && !w.Remove {
				m.due = asked // removed while it was cleaned: clean again, with its remains
				return
			}
			if w.Remove {
				m.state = Gone
			}
		}
	case None, Gone:
	}
}

// wake makes a pod be looked at again, unless it is at its end.
func (m *machine) wake(c Cause) bool {
	if m.state == None || m.state == Gone {
		return false
	}
	if m.state == Terminated && !c.Retry {
		return false // it only wakes to try its cleaning again
	}
	m.due = max(m.due, woken)
	m.causes = append(m.causes, c)
	return true
}
