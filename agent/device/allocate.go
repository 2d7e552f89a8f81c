package device

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/kubeloupe/kubeloupe/agent/device/checkpoint"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// maxAnswer limits what a plugin answers about one container, in bytes: it is part of the container's request and of the checkpoint.
const maxAnswer = 1 << 20

// maxKept limits what the devices of one resource need in the checkpoint, in bytes: a quarter of the file, so that a plugin with long IDs or
// large answers leaves room for others.
const maxKept = 16 << 20

// shownIDs is how many IDs an event has at most.
const shownIDs = 16

// errReleased is the error of an allocation whose pod was released meanwhile.
var errReleased = errors.New("the pod was released meanwhile")

// Allocate has the plugins allocate the devices that were reserved for a pod, and keeps them in the checkpoint. The error says, in
// upstream's words, why that failed; unless ctx has ended, the pod cannot run. Without reserved devices, it does nothing. It waits for
// plugins, at most 2 min for each call, and 30 s for those that have not registered since the agent started; no lock is held meanwhile.
//
// Upstream: pkg/kubelet/cm/devicemanager/manager.go, allocateContainerResources.
func (m *Manager) Allocate(ctx context.Context, pod *v1.Pod) error {
	if err := m.awaitLate(ctx, pod); err != nil {
		return err
	}
	for _, c := range containers(pod) {
		if err := m.allocateAll(ctx, pod, c, func(h *hold) bool { return h.reserved() }); err != nil {
			return err
		}
	}
	return nil
}

// allocateAll allocates what a container holds and is due.
func (m *Manager) allocateAll(ctx context.Context, pod *v1.Pod, c *v1.Container, due func(*hold) bool) error {
	m.mu.Lock()
	var todo []request
	for name, one := range m.holds[pod.UID][c.Name] {
		if due(one) {
			todo = append(todo, request{name, len(one.ids)})
		}
	}
	m.mu.Unlock()
	if len(todo) == 0 {
		return nil
	}
	sorting.Stable(todo, byResource)
	for _, r := range todo {
		if err := m.allocate(ctx, pod, c, r); err != nil {
			return err
		}
	}
	err := m.save()
	if err != nil {
		m.markDirty()
	}
	return err
}

// allocate allocates devices of one resource.
func (m *Manager) allocate(ctx context.Context, pod *v1.Pod, c *v1.Container, want request) error {
	ev := trace.DeviceAllocation{Container: c.Name, Resource: want.resource, Outcome: trace.DevicesAllocated, Count: want.needed}
	wait := trace.Wait{For: trace.WaitDevices, Target: trace.Target{Kind: trace.TargetDevicePlugin, Name: want.resource, Container: c.Name}, Limit: allocateTimeout}
	span := trace.Begin(m.cfg.Bus, trace.FromContext(ctx), wait)
	err := m.call(ctx, pod, c, want, &ev)
	trace.End(m.cfg.Bus, span, wait)
	if err != nil {
		ev.Outcome, ev.Err = trace.DevicesRefused, err.Error()
	}
	trace.Point(m.cfg.Bus, trace.FromContext(ctx), ev)
	return err
}

// call asks the plugin for its preference, then to allocate.
func (m *Manager) call(ctx context.Context, pod *v1.Pod, c *v1.Container, want request, ev *trace.DeviceAllocation) error {
	m.mu.Lock()
	r := m.resources[want.resource]
	p, one := r.primary(), m.holds.get(pod.UID, c.Name, want.resource)
	m.mu.Unlock()
	switch {
	case one == nil:
		return errReleased
	case r == nil:
		return fmt.Errorf("unknown Device Plugin %s", want.resource)
	case p == nil:
		return stopped(want.resource)
	}
	if p.prefers {
		if err := m.consult(ctx, pod, c, want, p, ev); err != nil {
			return err
		}
	}
	m.mu.Lock()
	ids := slices.Clone(one.ids)
	ev.Nodes, ev.Affinity = r.devices.nodes(ids).String(), m.near[pod.UID][c.Name].String()
	m.mu.Unlock()
	ev.IDs = ids[:min(len(ids), shownIDs)]
	began := time.Now()
	res, err := p.allocate(ctx, ids)
	ev.Took = time.Since(began)
	if err != nil {
		return err
	}
	answer, err := answerOf(res)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.holds.get(pod.UID, c.Name, want.resource) != one {
		return errReleased
	}
	var devices list
	if now := m.resources[want.resource]; now != nil {
		devices = now.devices
	}
	byNode := devices.byNode(ids)
	if n := m.holds.size(want.resource) + checkpoint.Size(byNode, proto.Size(answer)); n > maxKept {
		return fmt.Errorf("the devices of %s need %d bytes in the checkpoint, more than the limit of %d", want.resource, n, maxKept)
	}
	one.answer, one.byNode = answer, byNode
	return nil
}

// answerOf returns the plugin's answer about the only container of a request.
func answerOf(res *pluginapi.AllocateResponse) (*pluginapi.ContainerAllocateResponse, error) {
	all := res.GetContainerResponses()
	if len(all) == 0 || all[0] == nil {
		return nil, fmt.Errorf("no containers return in allocation response %s", clip(fmt.Sprint(res)))
	}
	if n := proto.Size(all[0]); n > maxAnswer {
		return nil, fmt.Errorf("the device plugin's answer has %d bytes, more than the limit of %d", n, maxAnswer)
	}
	return all[0], nil
}

// consult exchanges reserved devices for those that the plugin prefers.
//
// Upstream: pkg/kubelet/cm/devicemanager/manager.go, callGetPreferredAllocationIfAvailable.
func (m *Manager) consult(ctx context.Context, pod *v1.Pod, c *v1.Container, want request, p *plugin, ev *trace.DeviceAllocation) error {
	in, one, own := m.preference(pod, c, want)
	if one == nil {
		return errReleased
	}
	q, choice := in.ask(one.reused, own)
	if !choice {
		return nil
	}
	began := time.Now()
	answer, err := p.prefer(ctx, q)
	ev.Preferred = time.Since(began)
	if err != nil {
		return fmt.Errorf("device plugin GetPreferredAllocation rpc failed with err: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.resources[want.resource]
	if r == nil || m.holds.get(pod.UID, c.Name, want.resource) != one {
		return errReleased
	}
	in = m.choice(pod, c, want, r)
	one.ids = in.prefer(q, answer, without(one.ids, one.reused))
	return nil
}

// preference returns the input for a question to the plugin, and what is reserved.
func (m *Manager) preference(pod *v1.Pod, c *v1.Container, want request) (in choice, one *hold, own []string) {
	m.look()
	m.mu.Lock()
	defer m.mu.Unlock()
	r, one := m.resources[want.resource], m.holds.get(pod.UID, c.Name, want.resource)
	if r == nil || one == nil {
		return choice{}, nil, nil
	}
	return m.choice(pod, c, want, r), one, without(one.ids, one.reused)
}
