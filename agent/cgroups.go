package agent

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/worker"
)

// podCgroups are the pods' cgroups; with each that comes or goes the tiers get the
// weight of what is in them.
//
// Upstream: pkg/kubelet/kubelet.go, SyncPod, which calls UpdateQOSCgroups.
type podCgroups struct{ p *parts }

// PodParent implements podruntime.Cgroups.
func (c podCgroups) PodParent(pod *v1.Pod) string { return c.p.cgroups.PodParent(pod) }

// Ready implements podruntime.Cgroups.
func (c podCgroups) Ready(pod *v1.Pod) bool { return c.p.cgroups.Ready(pod) }

// EnsurePod implements podruntime.Cgroups.
func (c podCgroups) EnsurePod(ctx context.Context, pod *v1.Pod) error {
	c.weigh(ctx)
	return c.p.cgroups.EnsurePod(ctx, pod)
}

// DestroyPod implements podruntime.Cgroups.
func (c podCgroups) DestroyPod(ctx context.Context, uid types.UID) error {
	err := c.p.cgroups.DestroyPod(ctx, uid)
	c.weigh(ctx)
	return err
}

// weigh keeps the tiers' weights. A failure is no reason to hold a pod up: the record
// of the attempt tells it, and the next pod tries again.
func (c podCgroups) weigh(ctx context.Context) {
	var active []*v1.Pod
	for uid, pod := range c.p.workers.Pods() {
		if c.p.workers.State(uid) == worker.Syncing {
			active = append(active, pod)
		}
	}
	_ = c.p.cgroups.UpdateTiers(ctx, active)
}
