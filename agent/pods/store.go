package pods

import (
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/agent/podstatus"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Store has the desired pods and their statuses. Safe for concurrent use.
type Store struct {
	mu   sync.Mutex
	pods map[types.UID]*entry
	gone map[types.UID]time.Time // when nothing was left of a pod, until the runtime shows so
	// claimed are pods whose remains are being cleaned; closed when that is finished.
	claimed map[types.UID]chan struct{}
}

type entry struct {
	pod     *v1.Pod
	seenAt  time.Time
	status  v1.PodStatus
	said    trace.PodStatus // what was last published
	started bool
	ready   bool
	ending  bool
	refused bool // at admission: nothing of it was ever made
	// initWait is open while the pod waits for an init container; On is empty when it is not.
	initWait trace.Wait
	initSpan trace.Span
	network  string    // why the pod network is not ready, as last published
	active   time.Time // since when it is active, on our clock; zero until somebody asked
	ended    time.Time // when it was told to end
	again    *v1.Pod   // it was added again since, and starts when it is gone
	// failed makes the pod Failed whatever its containers do: it gave way, or ran too long.
	failed *podstatus.Reason
	// shown is the version that the volumes show, once all runs.
	shown *v1.Pod
	// after are the pods that give way to this one: it starts when they have.
	after []types.UID
}

// NewStore returns an empty store.
func NewStore() *Store {
	return &Store{pods: map[types.UID]*entry{}, gone: map[types.UID]time.Time{}, claimed: map[types.UID]chan struct{}{}}
}

// put notes a desired pod, or what it is now. Of one that was added again while it goes, the
// next life is meant.
func (s *Store) put(pod *v1.Pod, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := s.pods[pod.UID]; {
	case e == nil:
		// What the API has is what was true before this agent's time.
		s.pods[pod.UID] = &entry{pod: pod, seenAt: now, status: *pod.Status.DeepCopy()}
	case e.again != nil:
		e.again = pod
	default:
		e.pod = pod
	}
}

// again notes that a pod which is here was added again; false when it is not here. One
// on its way out starts again when it is gone.
func (s *Store) again(pod *v1.Pod) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.pods[pod.UID]
	switch {
	case e == nil:
		return false
	case e.ended.IsZero():
		e.pod = pod // another source has it too
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

// drop forgets a pod of which there never was anything.
func (s *Store) drop(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pods, uid)
}

// retire forgets a pod of which nothing is left. If it was added again meanwhile, that
// takes its place. say publishes the end of what was known and the beginning of what
// comes, under the lock so that nothing comes in between; either may be nil.
func (s *Store) retire(uid types.UID, say func(old, next *entry)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.gone[uid] = now
	old := s.pods[uid]
	delete(s.pods, uid)
	var next *entry
	if old != nil && old.again != nil {
		next = &entry{pod: old.again, seenAt: now, status: *old.again.Status.DeepCopy()}
		s.pods[uid] = next
	}
	say(old, next)
}

// outlived reports whether an observation made at that time is older than the end of
// the pod: the runtime has yet to tell.
func (s *Store) outlived(uid types.UID, at time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	gone, ok := s.gone[uid]
	return ok && !at.After(gone)
}

// forgetGone forgets the ends of pods that are not seen any more.
func (s *Store) forgetGone(seen map[types.UID]*podstate.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for uid := range s.gone {
		if seen[uid] == nil {
			delete(s.gone, uid)
		}
	}
}

// ending are the pods that were told to end and are still here.
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

// all are the pods that have not been told to end.
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

// Known reports whether the pod is desired or still on its way out.
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
func (s *Store) Pods() []v1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]v1.Pod, 0, len(s.pods))
	for _, e := range s.pods {
		p := e.pod.DeepCopy()
		p.Status = *e.status.DeepCopy()
		out = append(out, *p)
	}
	return out
}

// Pod returns a copy of the pod with this name and its status, or nil. If there are two, it copies only the one that has not
// terminated.
func (s *Store) Pod(namespace, name string) *v1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found *entry
	for _, e := range s.pods {
		if e.pod.Namespace != namespace || e.pod.Name != name {
			continue
		}
		if found == nil || e.status.Phase != v1.PodSucceeded && e.status.Phase != v1.PodFailed {
			found = e
		}
	}
	if found == nil {
		return nil
	}
	p := found.pod.DeepCopy()
	p.Status = *found.status.DeepCopy()
	return p
}

// active are the pods that take part in admission: neither ending nor over.
func (s *Store) active(but types.UID) []*v1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*v1.Pod
	for uid, e := range s.pods {
		over := e.status.Phase == v1.PodSucceeded || e.status.Phase == v1.PodFailed
		switch {
		case uid == but:
		case e.again != nil:
			out = append(out, e.again)
		case e.ended.IsZero() && !over:
			out = append(out, e.pod)
		}
	}
	return out
}
