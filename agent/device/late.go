package device

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// lateLimit is how long a pod waits for the plugins that have not registered since the agent started. Kubernetes' node tests give a pod whose
// plugin does not come back a minute to fail.
const lateLimit = 30 * time.Second

// defers reports whether what a pod needs of a resource is decided later, in Allocate: the resource is in the checkpoint, its plugin has not
// listed its devices since the agent started, and the runtime has nothing of the pod. An agent that was killed while the pod started left it
// so, and the plugin will register soon. A pod of which the runtime has something that does not run, as after a restart of the machine, is
// rejected, as upstream rejects both. So is a pod that the topology policy may reject, because there are several NUMA nodes, unless it has the
// devices already: the NUMA nodes of others are not known. Called with mu.
func (m *Manager) defers(pod *v1.Pod, r *resourceState, has bool) bool {
	if r.arrived == nil || m.cfg.Exists(pod.UID) || m.cfg.Strict && len(m.cfg.NUMANodes) > 1 && !has {
		return false
	}
	m.deferred[pod.UID] = true
	return true
}

// awaitLate waits for the plugins of a pod that was admitted without them, and then reserves its devices. The error says, in upstream's words,
// why it cannot have them.
func (m *Manager) awaitLate(ctx context.Context, pod *v1.Pod) error {
	m.mu.Lock()
	deferred := m.deferred[pod.UID]
	m.mu.Unlock()
	if !deferred {
		return nil
	}
	limit := time.NewTimer(lateLimit)
	defer limit.Stop()
	for _, c := range containers(pod) {
		for _, want := range m.late(pod, c) {
			if err := m.awaitOne(ctx, c, want, limit.C); err != nil {
				return err
			}
		}
	}
	for _, c := range containers(pod) {
		if err := m.reserveContainer(ctx, pod, c); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.deferred, pod.UID)
	return nil
}

// lateResource is a resource whose plugin has not listed its devices yet; arrived is closed when it has.
type lateResource struct {
	name    string
	arrived <-chan struct{}
}

func (m *Manager) late(pod *v1.Pod, c *v1.Container) (out []lateResource) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, want := range m.requests(pod, c) {
		if r := m.resources[want.resource]; r != nil && r.arrived != nil {
			out = append(out, lateResource{want.resource, r.arrived})
		}
	}
	return out
}

// awaitOne waits for one plugin, as a wait of the pod.
func (m *Manager) awaitOne(ctx context.Context, c *v1.Container, want lateResource, limit <-chan time.Time) error {
	wait := trace.Wait{For: trace.WaitDevices, Target: trace.Target{Kind: trace.TargetDevicePlugin, Name: want.name, Container: c.Name}, Limit: lateLimit}
	span := trace.Begin(m.cfg.Bus, trace.FromContext(ctx), wait)
	defer func() { trace.End(m.cfg.Bus, span, wait) }()
	select {
	case <-want.arrived:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-limit:
		return fmt.Errorf("no healthy devices present; cannot allocate unhealthy devices %s", want.name)
	}
}
