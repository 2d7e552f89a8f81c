package podsource

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// tellSame emits an event for each pod that is ignored because another one of its source has the same full name. It emits no second one
// while the pod stays in the source. Called with mu.
//
// Upstream: pkg/kubelet/config/config.go, filterInvalidPods. It emits one whenever the source is read.
func (m *Mux) tellSame(ctx context.Context, source string, pods []*v1.Pod) {
	before, now := m.same[source], make(map[types.UID]bool, len(pods))
	m.same[source] = now
	for _, p := range pods {
		if m.events != nil && !before[p.UID] && !now[p.UID] {
			m.events.Pod(ctx, p, "", v1.EventTypeWarning, "FailedValidation", fmt.Sprintf("Error validating pod %s_%s(%s) from %s due to duplicate pod name %q, ignoring",
				p.Name, p.Namespace, p.UID, source, p.Name))
		}
		now[p.UID] = true
	}
}
