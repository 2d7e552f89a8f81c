package device

import (
	"context"
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/types"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/kubeloupe/kubeloupe/agent/clock"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// grace is how long a resource stays in the node's capacity after its last plugin ended. Upstream: endpointStopGracePeriod.
	grace = 5 * time.Minute
	// pace is the shortest time between two lists of a plugin.
	pace = 100 * time.Millisecond
)

// room reports whether one more resource of that name may be registered. Those that were removed count: the node's object has them.
func (m *Manager) room(resource string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, was := m.gone[resource]
	return was || m.resources[resource] != nil || len(m.resources)+len(m.gone) < maxResources
}

// connected adds a plugin. It replaces an earlier connection to its socket, and counts instead of earlier plugins of the resource.
//
// Upstream: pkg/kubelet/cm/devicemanager/manager.go, PluginConnected.
func (m *Manager) connected(ctx context.Context, p *plugin) {
	m.mu.Lock()
	r := m.resources[p.resource]
	if r == nil {
		r = &resourceState{devices: maps.Clone(m.gone[p.resource])} // unusable: the plugin has not listed them
		m.resources[p.resource] = r
	}
	r.plugins = slices.DeleteFunc(r.plugins, func(old *plugin) bool {
		if old.socket == p.socket {
			_ = old.conn.Close()
			return true
		}
		return false
	})
	r.plugins = append(r.plugins, p)
	r.stopped, r.preStart = time.Time{}, p.preStart
	if r.expiry != nil {
		r.expiry.Stop()
	}
	delete(m.gone, p.resource)
	m.mu.Unlock()
	m.publish(ctx, trace.DevicePlugin{Op: trace.PluginRegistered, Resource: p.resource, Socket: p.socket, PreStart: p.preStart, Prefers: p.prefers})
	m.cfg.Changed()
}

// follow takes the plugin's lists until its stream ends; then the plugin is gone. It must register again.
func (m *Manager) follow(ctx context.Context, p *plugin) {
	err := m.stream(ctx, p)
	_ = p.conn.Close()
	if ctx.Err() == nil {
		m.disconnected(ctx, p, err)
	}
}

func (m *Manager) stream(ctx context.Context, p *plugin) error {
	s, err := p.api.ListAndWatch(ctx, &pluginapi.Empty{}, grpc.WaitForReady(false))
	if err != nil {
		return err
	}
	for {
		res, err := s.Recv()
		if err != nil {
			return err
		}
		m.update(ctx, p, res.GetDevices())
		clock.Sleep(ctx, pace)
	}
}

// update takes a plugin's list of devices.
//
// Upstream: pkg/kubelet/cm/devicemanager/manager.go, genericDeviceUpdateCallback.
func (m *Manager) update(ctx context.Context, p *plugin, devices []*pluginapi.Device) {
	all, dropped := read(devices)
	m.mu.Lock()
	p.devices = all
	r := m.resources[p.resource]
	if r.primary() != p {
		m.mu.Unlock()
		return
	}
	s := m.swap(p.resource, r, all)
	m.mu.Unlock()
	m.swapped(ctx, p.resource, p.socket, s, dropped)
}

// swap is the replacement of a resource's list.
type swap struct {
	old, all list
	first    bool        // no plugin had listed the resource
	hurt     []types.UID // the pods with a device whose health has changed
}

// swap replaces the list of a resource. Called with mu, with which its caller has seen whose list counts; swapped tells of it.
func (m *Manager) swap(name string, r *resourceState, all list) swap {
	s := swap{old: r.devices, all: all, first: !r.listed}
	r.devices, r.listed = all, true
	if r.arrived != nil && r.primary() != nil {
		close(r.arrived)
		r.arrived = nil
	}
	s.hurt = m.holds.owners(name, func(id string) bool {
		was, had := s.old[id]
		is, has := all[id]
		return has && (!had || was.said != is.said)
	})
	return s
}

func (m *Manager) swapped(ctx context.Context, name, socket string, s swap, dropped int) {
	ev := trace.DevicePlugin{Op: trace.PluginDevices, Resource: name, Socket: socket, Dropped: dropped}
	ev.Healthy, ev.Unhealthy = s.all.counts()
	healthy, unhealthy := s.old.counts()
	if s.first || dropped > 0 || healthy != ev.Healthy || unhealthy != ev.Unhealthy {
		m.publish(ctx, ev)
		m.cfg.Changed()
	}
	if len(s.hurt) > 0 {
		m.cfg.HealthChanged(s.hurt)
	}
	m.markDirty()
}

// disconnected removes a plugin whose stream ended. If it was the last one of its resource, none of the devices is healthy until one
// registers.
//
// Upstream: pkg/kubelet/cm/devicemanager/manager.go, PluginDisconnected.
func (m *Manager) disconnected(ctx context.Context, p *plugin, why error) {
	m.mu.Lock()
	r := m.resources[p.resource]
	if r == nil || !slices.Contains(r.plugins, p) {
		m.mu.Unlock()
		return // replaced by another connection to the same socket
	}
	counted := r.primary() == p
	r.plugins = slices.DeleteFunc(r.plugins, func(o *plugin) bool { return o == p })
	next, all := r.primary(), r.devices.unusable()
	socket := p.socket
	if next != nil {
		socket = next.socket
		if next.devices != nil {
			all = next.devices
		}
	} else {
		r.stopped = time.Now()
		m.expire(p.resource, r)
	}
	offers := counted && (r.listed || next == nil) // the node offers none of the devices of a plugin that ended without a list, and says so
	var s swap
	if offers {
		s = m.swap(p.resource, r, all)
	}
	m.mu.Unlock()
	gone := trace.DevicePlugin{Op: trace.PluginGone, Resource: p.resource, Socket: p.socket}
	if why != nil {
		gone.Err = why.Error()
	}
	m.publish(ctx, gone)
	if offers {
		m.swapped(ctx, p.resource, socket, s, 0)
	}
}

// expire removes a resource some time after its last plugin ended. Called with mu.
func (m *Manager) expire(name string, r *resourceState) {
	if r.expiry != nil {
		r.expiry.Stop()
	}
	r.expiry = time.AfterFunc(grace, func() { m.remove(name, r) })
}

// remove removes a resource without a plugin. What containers have of it stays theirs.
func (m *Manager) remove(name string, r *resourceState) {
	m.mu.Lock()
	if m.resources[name] != r || r.primary() != nil || time.Since(r.stopped) < grace {
		m.mu.Unlock()
		return
	}
	delete(m.resources, name)
	held := m.holds.taken(name)
	m.gone[name] = r.devices.unusable()
	maps.DeleteFunc(m.gone[name], func(id string, _ device) bool { return !held[id] })
	m.mu.Unlock()
	m.publish(context.Background(), trace.DevicePlugin{Op: trace.PluginRemoved, Resource: name})
	m.markDirty()
	m.cfg.Changed()
}
