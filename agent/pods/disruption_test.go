package pods

import (
	"context"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podsource"
)

// When others set, change or remove a pod's condition DisruptionTarget, its status is computed again: local readers see it.
func TestDisruptionByOthers(t *testing.T) {
	d := newDesk(t, 0)
	published := 0
	d.cfg.PublishStatus = func(_ context.Context, uid types.UID) {
		if uid == "u1" {
			published++
		}
	}
	pod := func(reason, message string) *v1.Pod {
		return podOf("web", "u1", fromAPI, func(p *v1.Pod) {
			p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Message: message}}
			if reason != "" {
				p.Status.Conditions = append(p.Status.Conditions, v1.PodCondition{Type: v1.DisruptionTarget, Reason: reason})
			}
		})
	}
	d.send(podsource.OpAdd, pod("", ""))
	for _, c := range []struct {
		reason, message string
		want            int
	}{
		{"", "new", 0},
		{"EvictionByEvictionAPI", "new", 1},
		{"EvictionByEvictionAPI", "newer", 1},
		{"DeletionByTaintManager", "newer", 2},
		{"", "newer", 3},
		{v1.PodReasonTerminationByKubelet, "newer", 3}, // what this agent wrote
	} {
		d.send(podsource.OpReconcile, pod(c.reason, c.message))
		if published != c.want {
			t.Errorf("%s %s: published %d times, want %d", c.reason, c.message, published, c.want)
		}
	}
}
