package agent

import (
	"context"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/worker"
)

// podCgroups are the pods' cgroups; with each that comes or goes the tiers get the
// weight of what is in them.
//
// Upstream: pkg/kubelet/kubelet.go, SyncPod, which calls UpdateQOSCgroups.
type podCgroups struct {
	p *parts

	// Where no cgroups are made, as with the simulated runtime, the step is a pod's first all the same: plans look alike.
	mu   sync.Mutex
	told map[types.UID]bool
}

// PodParent implements podruntime.Cgroups.
func (c *podCgroups) PodParent(pod *v1.Pod) string { return c.p.cgroups.PodParent(pod) }

// Ready implements podruntime.Cgroups.
func (c *podCgroups) Ready(pod *v1.Pod) bool {
	if c.p.cgroups == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.told[pod.UID]
	}
	return c.p.cgroups.Ready(pod)
}

// EnsurePod implements podruntime.Cgroups.
func (c *podCgroups) EnsurePod(ctx context.Context, pod *v1.Pod) error {
	c.tell(pod.UID, true)
	c.weigh(ctx)
	return c.p.cgroups.EnsurePod(ctx, pod)
}

// DestroyPod implements podruntime.Cgroups.
func (c *podCgroups) DestroyPod(ctx context.Context, uid types.UID) error {
	c.tell(uid, false)
	err := c.p.cgroups.DestroyPod(ctx, uid)
	c.weigh(ctx)
	return err
}

// tell notes that the step was done, or undone.
func (c *podCgroups) tell(uid types.UID, done bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !done || c.p.cgroups != nil {
		delete(c.told, uid)
		return
	}
	if c.told == nil {
		c.told = map[types.UID]bool{}
	}
	c.told[uid] = true
}

// weigh keeps the tiers' weights. A failure is no reason to hold a pod up: the record
// of the attempt tells it, and the next pod tries again.
func (c *podCgroups) weigh(ctx context.Context) {
	var active []*v1.Pod
	for uid, pod := range c.p.workers.Pods() {
		if c.p.workers.State(uid) == worker.Syncing {
			active = append(active, pod)
		}
	}
	_ = c.p.cgroups.UpdateTiers(ctx, active)
}
