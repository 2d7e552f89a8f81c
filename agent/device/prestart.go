package device

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// PreStart tells the plugins that require it that a container is about to be created. It waits for each of them, at most 30 s; no lock is
// held meanwhile.
//
// Upstream: pkg/kubelet/cm/devicemanager/manager.go, callPreStartContainerIfNeeded.
func (m *Manager) PreStart(ctx context.Context, pod *v1.Pod, c *v1.Container) error {
	for _, call := range m.preStarts(pod, c) {
		if err := m.preStart(ctx, c, call); err != nil {
			return err
		}
	}
	return nil
}

// preStarting is a call of PreStartContainer.
type preStarting struct {
	resource string
	plugin   *plugin // nil if none is connected
	ids      []string
	// removed says that the resource was removed, because it had no plugin for too long. Whether its plugin requires the call is not known.
	removed bool
}

func (m *Manager) preStarts(pod *v1.Pod, c *v1.Container) (out []preStarting) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.holds[pod.UID][c.Name]
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if r := m.resources[name]; r == nil || r.preStart {
			out = append(out, preStarting{resource: name, plugin: r.primary(), ids: slices.Clone(all[name].ids), removed: r == nil})
		}
	}
	return out
}

// do makes the call. The errors are upstream's.
func (call *preStarting) do(ctx context.Context) (err error) {
	if call.removed {
		return fmt.Errorf("endpoint not found in cache for a registered resource: %s", call.resource)
	}
	if call.plugin == nil {
		err = stopped(call.resource)
	} else {
		err = call.plugin.start(ctx, call.ids)
	}
	if err != nil {
		return fmt.Errorf("device plugin PreStartContainer rpc failed with err: %w", err)
	}
	return nil
}

func stopped(resource string) error { return fmt.Errorf("endpoint of %s has been stopped", resource) }

// preStart makes one call, as a wait of the pod.
func (m *Manager) preStart(ctx context.Context, c *v1.Container, call preStarting) error {
	wait := trace.Wait{For: trace.WaitDevices, Target: trace.Target{Kind: trace.TargetDevicePlugin, Name: call.resource, Container: c.Name}, Limit: preStartTimeout}
	span := trace.Begin(m.cfg.Bus, trace.FromContext(ctx), wait)
	began := time.Now()
	err := call.do(ctx)
	trace.End(m.cfg.Bus, span, wait)
	ev := trace.DeviceAllocation{Container: c.Name, Resource: call.resource, Outcome: trace.DevicesPrepared, IDs: call.ids[:min(len(call.ids), shownIDs)], Count: len(call.ids), Took: time.Since(began)}
	if err != nil {
		ev.Err = err.Error()
	}
	trace.Point(m.cfg.Bus, trace.FromContext(ctx), ev)
	return err
}
