package device

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/types"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/kubeloupe/kubeloupe/agent/device/checkpoint"
	"github.com/kubeloupe/kubeloupe/agent/wholefile"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Restore reads the checkpoint, and prepares the directory: sockets of earlier plugins are removed, so that plugins notice that the agent
// has started. Call it once, before any pod is admitted.
//
// A checkpoint that cannot be decoded is kept under another name. Then no device of a resource is given away while containers run that
// may have one.
func (m *Manager) Restore(ctx context.Context) error {
	if err := os.MkdirAll(m.cfg.Dir, 0o750); err != nil {
		return fmt.Errorf("directory of device plugins: %w", err)
	}
	if err := m.clean(); err != nil {
		return fmt.Errorf("directory of device plugins: %w", err)
	}
	entries, registered, there, err := checkpoint.Read(m.path())
	if bad, ok := errors.AsType[*checkpoint.UnreadableError](err); ok {
		return m.setAside(ctx, bad)
	}
	if err != nil {
		return err
	}
	_, err = os.Stat(m.aside())
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fresh, m.blind = !there, err == nil // not settled before that agent ended
	m.restore(ctx, entries)
	for name := range registered {
		if !extendedName(name) || len(m.resources) >= maxResources {
			continue
		}
		r := &resourceState{devices: list{}, listed: true, stopped: time.Now(), arrived: make(chan struct{})}
		m.resources[name] = r
		m.expire(name, r)
	}
	return nil
}

// restore takes the entries of a checkpoint. Called with mu.
func (m *Manager) restore(ctx context.Context, entries []checkpoint.PodDevicesEntry) {
	for _, e := range entries {
		one := &hold{byNode: e.DeviceIDs, answer: &pluginapi.ContainerAllocateResponse{}}
		if err := proto.Unmarshal(e.AllocResp, one.answer); err != nil {
			m.log(ctx, "the answer of a device plugin in the checkpoint cannot be decoded: the same devices are allocated again before the container starts again", err, e.ResourceName)
			one.answer = nil
		}
		for _, ids := range e.DeviceIDs {
			one.ids = union(one.ids, ids)
		}
		m.holds.put(types.UID(e.PodUID), e.ContainerName, e.ResourceName, one)
	}
}

func (m *Manager) setAside(ctx context.Context, bad *checkpoint.UnreadableError) error {
	kept, err := wholefile.Aside(m.path())
	if err != nil {
		return fmt.Errorf("%w; it cannot be renamed: %w", bad, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.blind = true
	m.log(ctx, "which devices running pods have is not known: no device of a resource is allocated while pods run that may have one; the file is kept as "+kept, bad, "")
	return nil
}

// clean removes all sockets. A plugin that ends may remove its own meanwhile.
//
// Upstream: pkg/kubelet/cm/devicemanager/manager.go, CleanupPluginDirectory.
func (m *Manager) clean() error {
	all, err := os.ReadDir(m.cfg.Dir)
	var errs []error
	for _, f := range all {
		if f.Type()&os.ModeSocket == 0 {
			continue
		}
		if err := os.Remove(filepath.Join(m.cfg.Dir, f.Name())); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, err)...)
}

// Fresh reports whether there was no checkpoint: then the node was made anew, and what its object says about devices is from an earlier
// one.
//
// Upstream: pkg/kubelet/cm/devicemanager/manager.go, ShouldResetExtendedResourceCapacity.
func (m *Manager) Fresh() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fresh
}

// save writes the checkpoint. What containers only reserved is not in it: a new agent reserves it again.
func (m *Manager) save() error {
	m.saving.Lock()
	defer m.saving.Unlock()
	m.mu.Lock()
	var entries []checkpoint.PodDevicesEntry
	var errs []error
	m.holds.each(func(uid types.UID, container, resource string, one *hold) {
		if one.answer == nil {
			return
		}
		text, err := proto.Marshal(one.answer)
		if err != nil {
			errs = append(errs, fmt.Errorf("devices of container %s: %w", container, err))
			return
		}
		entries = append(entries, checkpoint.PodDevicesEntry{PodUID: string(uid), ContainerName: container, ResourceName: resource, DeviceIDs: one.byNode, AllocResp: text})
	})
	registered := map[string][]string{}
	for name, r := range m.resources {
		if r.listed {
			registered[name] = r.devices.healthy()
		}
	}
	m.mu.Unlock()
	return errors.Join(append(errs, checkpoint.Write(m.path(), entries, registered))...)
}

func (m *Manager) log(ctx context.Context, text string, err error, resource string) {
	l := trace.Log{Level: trace.LevelError, Message: text, Attrs: []trace.KV{{K: "error", V: err.Error()}}}
	if resource != "" {
		l.Attrs = append(l.Attrs, trace.KV{K: "resource", V: resource})
	}
	trace.Point(m.cfg.Bus, trace.FromContext(ctx), l)
}
