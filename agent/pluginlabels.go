package agent

import (
	"context"

	"github.com/kubeloupe/kubeloupe/agent/volume/selinux"
	"github.com/kubeloupe/kubeloupe/trace"
)

// labelPlugins lets containers use the sockets of plugins on a node with SELinux.
//
// Upstream: pkg/kubelet/kubelet.go, setupDataDirs; pkg/kubelet/cm/devicemanager/plugin/v1beta1/server.go, Start.
func (p *parts) labelPlugins(ctx context.Context) {
	if err := selinux.LabelForPlugins(p.inRoot("plugins"), p.inRoot("plugins_registry"), p.inRoot("device-plugins")); err != nil {
		trace.Point(p.cfg.Bus, trace.FromContext(ctx), trace.Log{
			Level: trace.LevelWarn, Message: "plugins in containers without privileges may not work: the directories of their sockets have no SELinux label for containers",
			Attrs: []trace.KV{{K: "error", V: err.Error()}},
		})
	}
}
