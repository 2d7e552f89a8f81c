package device

import (
	"context"
	"slices"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/kubeloupe/kubeloupe/agent/pluginwatch"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Register implements pluginwatch.Handler, for plugins that create a socket in the kubelet's plugin registry. The messages are
// upstream's.
//
// Upstream: pkg/kubelet/cm/devicemanager/plugin/v1beta1/handler.go.
func (m *Manager) Register(ctx context.Context, name, endpoint string, versions []string) error {
	err := m.register(ctx, name, endpoint, versions)
	if err != nil {
		m.publish(ctx, trace.DevicePlugin{Op: trace.PluginRefused, Resource: clip(name), Socket: endpoint, Err: err.Error()})
	}
	return err
}

func (m *Manager) register(ctx context.Context, name, endpoint string, versions []string) error {
	if !slices.Contains(versions, pluginapi.Version) {
		return pluginwatch.Invalidf("manager version, %s, is not among plugin supported versions %v", pluginapi.Version, versions)
	}
	if !extendedName(name) {
		return pluginwatch.Invalidf("invalid name of device plugin socket: the ResourceName %q is invalid", clip(name))
	}
	m.mu.Lock()
	g := m.registry
	m.mu.Unlock()
	if g == nil {
		return errEnding
	}
	return g.add(ctx, name, endpoint)
}

// Deregister implements pluginwatch.Handler: the plugin's socket is gone.
func (m *Manager) Deregister(_ context.Context, name, endpoint string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.resources[name]; r != nil {
		for _, p := range r.plugins {
			if p.socket == endpoint {
				_ = p.conn.Close() // its stream ends, and so the plugin is gone
			}
		}
	}
}
