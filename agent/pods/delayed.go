package pods

import (
	"context"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/agent/worker"
)

// delayedPeriod is how often the agent looks whether the orphan is gone for which a pod waits.
const delayedPeriod = time.Second

// delayed are the pods that a source has while an orphan with their UID terminates: the manifest of a static pod was away when the agent
// started, and has returned. What ends the orphan would also remove what the pod has got meanwhile. They are added when the orphan is gone.
type delayed struct {
	// orphans are the pods that are terminated although no source had them.
	orphans map[types.UID]bool
	pods    map[types.UID]*v1.Pod
}

func newDelayed() delayed {
	return delayed{orphans: map[types.UID]bool{}, pods: map[types.UID]*v1.Pod{}}
}

// delay takes a change of a pod that cannot be added yet; false if the pod need not wait.
func (m *Manager) delay(op podsource.Op, pod *v1.Pod) bool {
	_, waits := m.delayed.pods[pod.UID]
	switch {
	case !waits && (op != podsource.OpAdd || !m.delayed.orphans[pod.UID] || m.cfg.Workers.State(pod.UID) == worker.None):
		return false
	case op == podsource.OpRemove:
		delete(m.delayed.pods, pod.UID)
	default:
		m.delayed.pods[pod.UID] = pod
		if !waits && len(m.delayed.pods) == 1 {
			m.lookAgain()
		}
	}
	return true
}

// lookAgain requests housekeeping, which adds the pods.
func (m *Manager) lookAgain() {
	if m.cfg.Tidy != nil {
		time.AfterFunc(delayedPeriod, m.cfg.Tidy)
	}
}

// addDelayed adds the pods whose orphan is gone.
func (m *Manager) addDelayed(ctx context.Context) (did []string) {
	maps.DeleteFunc(m.delayed.orphans, func(uid types.UID, _ bool) bool { return m.cfg.Workers.State(uid) == worker.None })
	for _, uid := range slices.Sorted(maps.Keys(m.delayed.pods)) {
		if m.delayed.orphans[uid] {
			continue
		}
		pod := m.delayed.pods[uid]
		delete(m.delayed.pods, uid)
		m.add(ctx, pod)
		did = append(did, "added "+pod.Namespace+"/"+pod.Name)
	}
	if len(m.delayed.pods) > 0 {
		m.lookAgain()
	}
	return did
}
