package cgroup

import (
	"context"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/qos"
)

// Workers knows the pods that have workers.
type Workers interface {
	// Unended returns the pods of which something runs or will run, also those that are terminating: until their processes have ended, they need
	// their share.
	Unended() []*v1.Pod
}

// Pods are the pods' cgroups. Whenever one is created, resized or removed, the QoS cgroups get the limits that their
// pods require. Safe for concurrent use.
//
// Upstream: pkg/kubelet/kubelet.go, SyncPod, which calls UpdateQOSCgroups.
type Pods struct {
	manager *Manager
	workers Workers
	// weighing is held from the reading of the pods until the QoS cgroups have their limits: so of pods that start at the same time, the one
	// that is last knows all others.
	weighing sync.Mutex
	// again wakes Run.
	again chan struct{}

	// If no cgroups are created (simulated runtime), a pod's plan nevertheless begins with this step, so that plans are
	// equal.
	mu   sync.Mutex
	told map[types.UID]bool
}

// NewPods returns the cgroups of pods. The manager is nil if the agent creates no cgroups.
func NewPods(m *Manager, workers Workers) *Pods {
	return &Pods{manager: m, workers: workers, again: make(chan struct{}, 1), told: map[types.UID]bool{}}
}

// weighAgain is how long the QoS cgroups may have other limits than their pods require, because the kernel refused those.
//
// Upstream: pkg/kubelet/cm/qos_container_manager_linux.go, periodicQOSCgroupUpdateInterval: there, the limits are set that often, always.
const weighAgain = time.Minute

// Run sets the limits of the QoS cgroups again while the kernel refuses some, until ctx ends. It returns nil.
func (c *Pods) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.again:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(weighAgain):
		}
		c.weigh(ctx)
	}
}

// PodParent implements podruntime.Cgroups.
func (c *Pods) PodParent(pod *v1.Pod) string { return c.manager.PodParent(pod) }

// Ready implements podruntime.Cgroups.
func (c *Pods) Ready(pod *v1.Pod) bool {
	if c.manager == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.told[pod.UID]
	}
	return c.manager.Ready(pod)
}

// EnsurePod implements podruntime.Cgroups.
func (c *Pods) EnsurePod(ctx context.Context, pod *v1.Pod) error {
	c.tell(pod.UID, true)
	c.weigh(ctx)
	return c.manager.EnsurePod(ctx, pod)
}

// DestroyPod implements podruntime.Cgroups.
func (c *Pods) DestroyPod(ctx context.Context, uid types.UID) error {
	c.tell(uid, false)
	err := c.manager.DestroyPod(ctx, uid)
	c.weigh(ctx)
	return err
}

// MemoryUsage returns the memory that a pod's cgroup uses, in bytes; false if it is not known.
//
// Upstream: pkg/kubelet/cm/pod_container_manager_linux.go, GetPodCgroupMemoryUsage.
func (c *Pods) MemoryUsage(pod *v1.Pod) (bytes int64, known bool) {
	if c.manager == nil {
		return 0, false
	}
	return c.manager.memoryUsage(c.manager.PodParent(pod))
}

// MemoryLimit returns the limit of memory that a pod's cgroup has, in bytes; false if it has none, or if that is not known.
//
// Upstream: pkg/kubelet/cm/pod_container_manager_linux.go, GetPodCgroupConfig.
func (c *Pods) MemoryLimit(pod *v1.Pod) (bytes int64, known bool) {
	if c.manager == nil {
		return 0, false
	}
	return c.manager.memoryLimit(c.manager.PodParent(pod))
}

// ResizePod implements podruntime.PodLimits.
func (c *Pods) ResizePod(ctx context.Context, pod *v1.Pod, r qos.Resources) error {
	err := c.manager.ResizePod(ctx, pod, r)
	c.weigh(ctx)
	return err
}

// tell records that the step was done, or undone.
func (c *Pods) tell(uid types.UID, done bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if done && c.manager == nil {
		c.told[uid] = true
	} else {
		delete(c.told, uid)
	}
}

// weigh updates the limits of the QoS cgroups. A failure does not delay the pod: it is published, and the next pod, or
// Run, retries.
func (c *Pods) weigh(ctx context.Context) {
	c.weighing.Lock()
	defer c.weighing.Unlock()
	if err := c.manager.UpdateTiers(ctx, c.workers.Unended()); err == nil && !c.manager.anyRaised() {
		return
	}
	select {
	case c.again <- struct{}{}:
	default:
	}
}
