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
//	(none) ──▶ syncing ── end or pod finished ──▶ terminating ── stopped ──▶ terminated
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

// Work is one action on a pod.
type Work struct {
	// State is the worker's state for which the work is: Syncing, Terminating or Terminated.
	State State
	Pod   *v1.Pod
	// Grace overrides the pod's grace period, in seconds; nil keeps the pod's own.
	Grace *int64
	// Reason says why a pod terminates.
	Reason string
	// Remove says that the pod is no longer in its source, so everything of it must be removed.
	Remove bool
	// Causes are the requests for work since the last work, oldest first.
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
	// Reason is the reason for End.
	Reason string
	Cause  Cause
}

// due says how urgently a pod needs work.
type due uint8

const (
	rest  due = iota // nothing to do
	woken            // something about the pod changed; a back-off after a failure still applies
	asked            // a request, or the next state: at once
)

// machine is the state of one worker. It has no clock, no lock and no goroutine.
type machine struct {
	state  State
	pod    *v1.Pod
	grace  *int64
	reason string
	remove bool
	due    due
	// cleaned says that a terminated pod's resources were released.
	cleaned bool
	causes  []Cause
	// again is a request for the same UID that arrived while this pod was terminating.
	again *Ask
}

// ask merges a request. It reports whether the current work should be canceled: a pod that terminates need not finish
// starting, and a shorter grace period applies at once.
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
	case m.state == Terminating && a.Grace != nil && m.shorter(*a.Grace):
		m.grace = a.Grace
		return true
	}
	return false
}

// sooner reports whether a termination with a grace period, in seconds, ends the pod sooner. One that is gone from its source ends as it
// does.
func (m *machine) sooner(grace int64) bool {
	if m.state == Terminating {
		return !m.remove && m.shorter(grace)
	}
	return m.state == Syncing
}

// shorter reports whether a grace period, in seconds, is shorter in effect than that of the pod's termination.
func (m *machine) shorter(grace int64) bool {
	return podspec.GracePeriod(m.pod, &grace) < podspec.GracePeriod(m.pod, m.grace)
}

// anew stores a request for a pod that is terminating, for its next life. A request without a spec is not one for a
// next life.
func (m *machine) anew(a Ask) {
	if a.Pod == nil && m.again != nil {
		a.Pod = m.again.Pod
	}
	if a.Pod != nil {
		m.again = &a
	}
}

// pressing reports whether the next work must start before the back-off of a failed one ends.
func (m *machine) pressing() bool { return m.due == asked }

// next returns the next work; false if the worker is idle.
func (m *machine) next() (Work, bool) {
	if m.due == rest || m.state == None || m.state == Gone {
		return Work{}, false
	}
	w := Work{State: m.state, Pod: m.pod, Grace: m.grace, Reason: m.reason, Remove: m.remove, Causes: m.causes}
	m.due, m.causes = rest, nil
	return w, true
}

// finish takes the result of work that next returned. over says that the pod finished by itself. The caller's timer
// retries failed work.
func (m *machine) finish(w Work, over, failed bool) {
	if w.State != m.state {
		m.due = asked // it changed state meanwhile
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
			m.cleaned = true
			if m.remove && !w.Remove {
				m.due = asked // removed while it was cleaned: clean again, with everything that remains
				return
			}
			if w.Remove {
				m.state = Gone
			}
		}
	case None, Gone:
	}
}

// wake requests another look at a pod, unless it is terminated.
func (m *machine) wake(c Cause) bool {
	if m.state == None || m.state == Gone {
		return false
	}
	if m.state == Terminated && !c.Retry {
		return false // only a retry of its cleanup may wake it
	}
	m.due = max(m.due, woken)
	m.causes = append(m.causes, c)
	return true
}
