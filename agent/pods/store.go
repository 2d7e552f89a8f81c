package pods

import (
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/agent/podstatus"
	"github.com/kubeloupe/kubeloupe/agent/worker"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Store has the desired pods and their statuses. Safe for concurrent use.
type Store struct {
	mu   sync.Mutex
	pods map[types.UID]*entry
	gone map[types.UID]time.Time // when a pod was gone, until the runtime shows this
	// claimed are pods whose remains are being cleaned; the channel closes when that is finished.
	claimed map[types.UID]chan struct{}
	changed []func(types.UID)
	counts  counts
}

// entry is a desired pod with its status.
//
// Many fields: what each step of a pod's life leaves for the later ones, all under the store's lock.
type entry struct {
	pod     *v1.Pod
	seenAt  time.Time
	status  v1.PodStatus
	own     bool            // the status is this agent's; else it is from before it started
	said    trace.PodStatus // as last published
	started bool
	ready   bool
	ending  bool
	refused bool // rejected at admission: nothing of it was ever created
	init    initWait
	network networkEvent
	active  time.Time // when it became active, by our clock; zero until first needed
	ended   time.Time // when its termination was requested
	removed bool      // it terminates, and no source has it
	again   *v1.Pod   // the pod as added again meanwhile; it starts when this one is gone
	// failed makes the pod Failed regardless of its containers: it was preempted or evicted, or active for too long. disruption says
	// that the pod is not to blame; it is the message of its condition DisruptionTarget.
	failed     *podstatus.Reason
	disruption string
	kill       killWatch
	// shown is the version that the volumes show, set when all containers run.
	shown *v1.Pod
	// after are the pods that were preempted for this one, which starts when they have terminated.
	after []types.UID
	// freed says that its resources are no longer its own although something of it may run: they are for the pod for which it was preempted. Or
	// it had ended before this agent started.
	freed bool
}

// initWait is open while the pod waits for an init container; otherwise its wait is empty.
type initWait struct {
	wait trace.Wait
	span trace.Span
}

// networkEvent is why the pod network is not ready, as last published, and when.
type networkEvent struct {
	why string
	at  time.Time
}

// NewStore returns an empty store. It calls changed when a pod or its status has changed, or the pod is gone; they must not block, nor call
// the store.
func NewStore(changed ...func(types.UID)) *Store {
	return &Store{pods: map[types.UID]*entry{}, gone: map[types.UID]time.Time{}, claimed: map[types.UID]chan struct{}{}, changed: changed, counts: newCounts()}
}

// tell reports a change. Called with mu.
func (s *Store) tell(uid types.UID) {
	for _, f := range s.changed {
		f(uid)
	}
}

// put adds or updates a desired pod. If the pod was added again while it terminates, put updates its next life.
func (s *Store) put(pod *v1.Pod, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := s.pods[pod.UID]; {
	case e == nil:
		// The API's status is from before this agent started.
		s.pods[pod.UID] = &entry{pod: pod, seenAt: now, status: *pod.Status.DeepCopy()}
	case e.again != nil:
		e.again = pod
	default:
		e.pod = pod
	}
	s.tell(pod.UID)
}

// again handles a pod that is already known and was added again; false if it is unknown. A pod that terminates starts
// again when it is gone.
func (s *Store) again(pod *v1.Pod) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.pods[pod.UID]
	switch {
	case e == nil:
		return false
	case e.ended.IsZero():
		e.pod = pod // another source also has it
	default:
		e.again = pod
	}
	return true
}

// with calls f on a pod's entry, if there is one.
func (s *Store) with(uid types.UID, f func(*entry)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.pods[uid]; e != nil {
		f(e)
	}
}

// drop removes a pod of which nothing was created.
func (s *Store) drop(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pods, uid)
	s.tell(uid)
}

// retire removes a pod that is gone. If it was added again meanwhile, the new one takes its place. say publishes the
// end of the old and the begin of the new one, with mu held, so that no event comes in between; either may be nil.
func (s *Store) retire(uid types.UID, say func(old, next *entry)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.gone[uid] = now
	old := s.pods[uid]
	delete(s.pods, uid)
	if old != nil {
		old.kill.stop()
	}
	var next *entry
	if old != nil && old.again != nil {
		next = &entry{pod: old.again, seenAt: now, status: *old.again.Status.DeepCopy()}
		s.pods[uid] = next
		s.counts.restarted[podspec.IsStatic(next.pod)]++
	}
	s.tell(uid)
	say(old, next)
}

// outlived reports whether an observation made at that time is older than the end of the pod: the runtime has not
// reported the end yet.
func (s *Store) outlived(uid types.UID, at time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	gone, ok := s.gone[uid]
	return ok && !at.After(gone)
}

// forgetGone removes the ends of pods that the runtime no longer shows.
func (s *Store) forgetGone(seen map[types.UID]*podstate.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for uid := range s.gone {
		if seen[uid] == nil {
			delete(s.gone, uid)
		}
	}
}

// ending returns the pods that should terminate and are not gone.
func (s *Store) ending() []*v1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*v1.Pod
	for _, e := range s.pods {
		if !e.ended.IsZero() {
			out = append(out, e.pod)
		}
	}
	return out
}

// all returns the pods that should not terminate.
func (s *Store) all() []*v1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*v1.Pod
	for _, e := range s.pods {
		if e.ended.IsZero() {
			out = append(out, e.pod)
		}
	}
	return out
}

// Known reports whether the pod is desired or not gone yet.
func (s *Store) Known(uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pods[uid] != nil
}

// Refused reports whether the pod was rejected at admission. This is permanent.
func (s *Store) Refused(uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.pods[uid]
	return e != nil && e.refused
}

// Pods returns copies of all pods with their statuses, for /pods.
func (s *Store) Pods() []v1.Pod { return s.copies((*entry).copied) }

func (s *Store) copies(of func(*entry) *v1.Pod) []v1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]v1.Pod, 0, len(s.pods))
	for _, e := range s.pods {
		out = append(out, *of(e))
	}
	return out
}

// Copy returns a copy of a pod with its status, or nil.
func (s *Store) Copy(uid types.UID) *v1.Pod { return s.copyOne(uid, (*entry).copied) }

func (s *Store) copyOne(uid types.UID, of func(*entry) *v1.Pod) *v1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.pods[uid]
	if e == nil {
		return nil
	}
	return of(e)
}

// Active returns the pods, without their statuses, of which something runs or will run: also a pod that has failed, while it terminates.
// workerState returns the state of a pod's worker. The pods must not be changed.
//
// Upstream: pkg/kubelet/kubelet_pods.go, isPodInactive.
func (s *Store) Active(workerState func(types.UID) worker.State) []*v1.Pod {
	all, over := s.phases()
	return slices.DeleteFunc(all, func(pod *v1.Pod) bool {
		switch workerState(pod.UID) { // after the phase: a pod that terminates meanwhile is not omitted
		case worker.Syncing, worker.Terminating:
			return false
		case worker.Terminated, worker.Gone:
			return true
		case worker.None:
		}
		return over[pod.UID]
	})
}

// ActiveNamed returns the pod that Pod returns a copy of, if it is one of Active; otherwise nil. It must not be changed.
func (s *Store) ActiveNamed(namespace, name string, workerState func(types.UID) worker.State) *v1.Pod {
	meant := s.Pod(namespace, name)
	if meant == nil {
		return nil
	}
	active := s.Active(workerState)
	if i := slices.IndexFunc(active, func(pod *v1.Pod) bool { return pod.UID == meant.UID }); i >= 0 {
		return active[i]
	}
	return nil
}

// phases returns all pods, and which of them have a terminal phase.
func (s *Store) phases() (all []*v1.Pod, over map[types.UID]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	over = map[types.UID]bool{}
	for uid, e := range s.pods {
		all = append(all, e.pod)
		over[uid] = e.terminal()
	}
	return all, over
}

// Everyone returns all pods, without their statuses, also those that have ended. They must not be changed.
func (s *Store) Everyone() []*v1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*v1.Pod, 0, len(s.pods))
	for _, e := range s.pods {
		out = append(out, e.pod)
	}
	return out
}

// Newest returns the newest version of a pod, with the API's status, nil if it is not known. It must not be changed.
func (s *Store) Newest(uid types.UID) (pod *v1.Pod) {
	s.with(uid, func(e *entry) { pod = e.pod })
	return pod
}

// Pod returns a copy of the pod with this name and its status, or nil. If there are two, because one was replaced and still terminates, it is
// the new one.
//
// Upstream: pkg/kubelet/pod/pod_manager.go, GetPodByName.
func (s *Store) Pod(namespace, name string) *v1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found *entry
	for _, e := range s.pods {
		if e.pod.Namespace == namespace && e.pod.Name == name && (found == nil || e.replaces(found)) {
			found = e
		}
	}
	if found == nil {
		return nil
	}
	return found.copied()
}

// replaces reports whether other, which has the same name, is the earlier pod: no source has it any more, or it has ended, or it was seen
// before.
func (e *entry) replaces(other *entry) bool {
	switch {
	case e.removed != other.removed:
		return other.removed
	case e.terminal() != other.terminal():
		return other.terminal()
	}
	return e.seenAt.After(other.seenAt)
}

// terminal reports whether the pod has a terminal phase.
func (e *entry) terminal() bool {
	return trace.PodPhase(e.status.Phase).Terminal()
}

// copied returns a copy of the pod with the agent's status, and in it what other components than a kubelet set, and the health of volumes, as the
// API server has them.
func (e *entry) copied() *v1.Pod {
	p := e.pod.DeepCopy()
	s := e.status.DeepCopy()
	s.ResourceClaimStatuses, s.ExtendedResourceClaimStatus = p.Status.ResourceClaimStatuses, p.Status.ExtendedResourceClaimStatus
	s.NodeAllocatableResourceClaimStatuses, s.VolumeHealth = p.Status.NodeAllocatableResourceClaimStatuses, p.Status.VolumeHealth
	p.Status = *s
	return p
}

// States returns the states of pods' workers.
type States func(types.UID) worker.State

// Counted returns the pods that count in admission.
func (s *Store) Counted(states States) []*v1.Pod { return s.counted("", states) }

// Coming returns the pods that are being admitted: they have no worker yet.
func (s *Store) Coming(states States) []*v1.Pod {
	return slices.DeleteFunc(s.counted("", states), func(pod *v1.Pod) bool { return states(pod.UID) != worker.None })
}

// counted returns the pods that count in admission: those that hold resources, and have not given way to a critical pod.
func (s *Store) counted(but types.UID, states States) []*v1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*v1.Pod
	for uid, e := range s.pods {
		switch {
		case uid == but:
		case e.again != nil:
			out = append(out, e.again)
		case e.holds(states(uid)) && !e.freed:
			out = append(out, e.pod)
		}
	}
	return out
}

// holds reports whether a pod has resources of the node: while it terminates, its containers still use them. One that no source has any more
// has none, even if its containers still run: the scheduler may already use them for other pods. Nor has one that has ended as far as its
// status shows and need not terminate, such as a rejected one.
//
// Upstream: pkg/kubelet/kubelet_pods.go, GetActivePods and isPodInactive.
func (e *entry) holds(state worker.State) bool {
	ends := !e.ended.IsZero() || state == worker.Terminating
	return !e.removed && state != worker.Terminated && (ends || !e.terminal())
}
