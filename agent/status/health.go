package status

import (
	"context"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// SetVolumeHealth sets what the driver of a pod's volume reports: volume is the name in the pod, and a volume without conditions is
// healthy. Nothing changes while statuses and reasons are the same; messages alone are no change. A pod that has no status yet, or of
// which nothing is left, is ignored. It never blocks on the API server.
//
// Upstream: pkg/kubelet/status/status_manager.go, SetPodVolumeHealth; KEP-1432.
func (m *Manager) SetVolumeHealth(ctx context.Context, uid types.UID, volume string, conditions []v1.VolumeHealthCondition) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entries[uid]
	if e == nil || e.version == 0 || e.gone || e.deleted {
		return
	}
	at := slices.IndexFunc(e.want.VolumeHealth, func(h v1.PodVolumeHealth) bool { return h.Name == volume })
	if at < 0 && len(conditions) == 0 || at >= 0 && SameHealth(e.want.VolumeHealth[at].HealthConditions, conditions) {
		return
	}
	s := e.want.DeepCopy()
	entry := v1.PodVolumeHealth{Name: volume, HealthConditions: slices.Clone(conditions), LastTransitionTime: metav1.Now().Rfc3339Copy()}
	if at < 0 {
		s.VolumeHealth = append(s.VolumeHealth, entry)
	} else {
		s.VolumeHealth[at] = entry
	}
	m.set(ctx, e, s)
}

// SameHealth reports whether two lists of conditions have the same statuses with the same reasons.
//
// Upstream: pkg/volume/util/util.go, VolumeHealthConditionSetsEqual.
func SameHealth(a, b []v1.VolumeHealthCondition) bool { return maps.Equal(healthOf(a), healthOf(b)) }

func healthOf(list []v1.VolumeHealthCondition) map[[2]string]bool {
	set := map[[2]string]bool{}
	for i := range list {
		set[[2]string{string(list[i].Status), list[i].Reason}] = true
	}
	return set
}
