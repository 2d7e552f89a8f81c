package mirror

import (
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
)

// Known has the static pods and their mirrors. A Manager fills it. It is built before the Manager, so that the status manager can
// look up mirrors and the Manager can notify the status manager. Safe for concurrent use; do not change the pods that it returns.
type Known struct {
	mu sync.Mutex
	// statics are the static pods by full name: the first one runs or will run; the next one takes its place when the
	// first is gone.
	statics map[string][]*v1.Pod
	// mirrors are the API's, by full name.
	mirrors map[string]*v1.Pod
	// made are mirrors that the watch has not delivered yet; ended are those whose deletion it has not delivered yet.
	made  map[string]made
	ended map[types.UID]bool
	// listed says that the API's mirrors are known, complete that all static pods are known.
	listed, complete bool
}

// made is a mirror as the API server returned it, and when.
type made struct {
	mirror *v1.Pod
	at     time.Time
}

// NewKnown returns a Known without pods.
func NewKnown() *Known {
	return &Known{statics: map[string][]*v1.Pod{}, mirrors: map[string]*v1.Pod{}, made: map[string]made{}, ended: map[types.UID]bool{}}
}

// Mirror returns the mirror of this version of a static pod; nil if there is none.
func (m *Known) Mirror(uid types.UID) *v1.Pod {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, list := range m.statics {
		if list[0].UID == uid {
			if p := m.mirrors[name]; p != nil && shows(p, list[0]) {
				return p
			}
			return nil
		}
	}
	return nil
}

// Mirrors returns the number of mirror pods that the API server has.
func (m *Known) Mirrors() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.mirrors)
}

// Static returns the UID of the static pod whose mirror has this UID; the UID itself if it is not a mirror's. Upstream:
// pkg/kubelet/pod/pod_manager.go, TranslatePodUID.
func (m *Known) Static(uid types.UID) types.UID {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, p := range m.mirrors {
		if p.UID == uid {
			if s := m.holder(name); s != nil {
				return s.UID
			}
		}
	}
	return uid
}

// holder returns the static pod that owns the mirror of that name.
func (m *Known) holder(name string) *v1.Pod {
	if list := m.statics[name]; len(list) > 0 {
		return list[0]
	}
	return nil
}

// shows reports whether a mirror is one of this version of a static pod. Upstream: pkg/kubelet/pod/pod_manager.go,
// IsMirrorPodOf.
func shows(mirror, static *v1.Pod) bool {
	hash, ok := mirror.Annotations[podspec.AnnotationMirror]
	return ok && hash == static.Annotations[podspec.AnnotationHash]
}
