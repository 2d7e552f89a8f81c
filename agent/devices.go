package agent

import (
	"context"
	"path/filepath"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	podresourcesapi "k8s.io/kubelet/pkg/apis/podresources/v1"
	podresourcesalpha "k8s.io/kubelet/pkg/apis/podresources/v1alpha1"
	podsapiv1 "k8s.io/kubelet/pkg/apis/pods/v1alpha1"

	"github.com/kubeloupe/kubeloupe/agent/device"
	"github.com/kubeloupe/kubeloupe/agent/localrpc"
	"github.com/kubeloupe/kubeloupe/agent/pluginwatch"
	"github.com/kubeloupe/kubeloupe/agent/podresources"
	"github.com/kubeloupe/kubeloupe/agent/pods"
	"github.com/kubeloupe/kubeloupe/agent/podsapi"
	"github.com/kubeloupe/kubeloupe/agent/topology"
	"github.com/kubeloupe/kubeloupe/agent/worker"
	"github.com/kubeloupe/kubeloupe/trace"
)

// newDevices creates the manager of devices, which the topology manager asks. What it asks about pods exists before any pod does.
func (p *parts) newDevices() (err error) {
	p.pods.devices, err = device.New(p.deviceConfig())
	if err != nil {
		return err
	}
	p.pods.plugins["DevicePlugin"] = p.pods.devices
	p.addSocket("device plugins", p.inRoot("device-plugins", device.Socket), p.pods.devices.Run)
	return nil
}

// deviceConfig returns what the manager of devices needs. A pod that terminates may still use devices.
func (p *parts) deviceConfig() device.Config {
	return device.Config{
		Dir:      p.inRoot("device-plugins"),
		Ended:    func(uid types.UID) bool { return p.pods.manager.IsTerminated(string(uid)) },
		Complete: func() bool { return p.pods.manager.SourcesReady() },
		Active:   p.pods.registry.Unended, Changed: p.self.Changed,
		Runs: func(uid types.UID) bool { return p.pleg.Cache().Get(uid).Active() },
		Exists: func(uid types.UID) bool {
			seen := p.pleg.Cache().Get(uid)
			return seen != nil && len(seen.Sandboxes)+len(seen.Containers) > 0
		},
		NUMANodes:     p.host.arrangement.IDs(),
		Strict:        topology.Strict(p.cfg.Kubelet.Kubelet.TopologyManagerPolicy),
		HealthChanged: p.wakes("the health of its devices has changed", false),
		Bus:           p.cfg.Bus,
	}
}

// watchPlugins watches the registry of plugins, when all handlers are known.
func (p *parts) watchPlugins() error {
	w, err := pluginwatch.New(pluginwatch.Config{Dir: p.inRoot("plugins_registry"), Handlers: p.pods.plugins, Bus: p.cfg.Bus})
	if err != nil {
		return err
	}
	p.pods.sockets = w
	p.add("plugins", w.Run)
	return nil
}

// deviceHealth is what statuses show of devices; nil if they do not.
func (p *parts) deviceHealth() interface {
	Status(pod *v1.Pod, container string) []v1.ResourceStatus
} {
	if p.cfg.Kubelet.Gates.Enabled("ResourceHealthStatus") {
		return deviceHealth{p.pods.devices, p.pods.claims}
	}
	return nil
}

// podsWithResources implements podresources.Pods.
type podsWithResources struct {
	*pods.Store
	workers *worker.Registry
}

// Active implements podresources.Pods.
func (p podsWithResources) Active() []*v1.Pod { return p.Store.Active(p.workers.State) }

// Named implements podresources.Pods.
func (p podsWithResources) Named(namespace, name string) *v1.Pod {
	return p.ActiveNamed(namespace, name, p.workers.State)
}

// addLocal adds the servers for programs on this node.
func (p *parts) addLocal() error {
	of, err := podresources.New(podresources.Config{
		Pods: podsWithResources{p.pods.store, p.pods.registry}, Devices: p.pods.devices, CPUs: p.host.managers.cpus, Memory: p.host.managers.memory, Claims: p.pods.claims,
		Complete: p.pods.manager.Complete(), Ended: !p.cfg.Kubelet.Gates.Enabled("KubeletPodResourcesListUseActivePods"),
	})
	if err != nil {
		return err
	}
	err = p.serveLocal("podresources", localrpc.Config{
		Path: p.inRoot("pod-resources", podresources.Socket), Name: trace.ServerPodResources, QPS: podresources.QPS, Burst: podresources.Burst,
		Register: func(r grpc.ServiceRegistrar) {
			podresourcesapi.RegisterPodResourcesListerServer(r, of)
			podresourcesalpha.RegisterPodResourcesListerServer(r, of.Alpha())
		},
	})
	if err != nil || !p.cfg.Kubelet.Gates.Enabled("PodsAPI") {
		return err
	}
	all, err := podsapi.New(pods.Verified{Store: p.pods.store}, p.pods.watchers, p.pods.manager.SourcesReady)
	if err != nil {
		return err
	}
	return p.serveLocal("pods API", localrpc.Config{
		Path: p.inRoot("pods-api", podsapi.Socket), Name: trace.ServerPods, QPS: podsapi.QPS, Burst: podsapi.Burst,
		Register: func(r grpc.ServiceRegistrar) { podsapiv1.RegisterPodsServer(r, all) },
	})
}

func (p *parts) serveLocal(name string, c localrpc.Config) error {
	c.Bus = p.cfg.Bus
	s, err := localrpc.New(c)
	if err != nil {
		return err
	}
	p.addSocket(name, c.Path, s.Run)
	return nil
}

// addSocket adds a part that serves a socket. The kernel has no sockets with longer paths; a node works without this one.
func (p *parts) addSocket(name, path string, run func(context.Context) error) {
	if len(path) <= localrpc.MaxPath {
		p.add(name, run)
		return
	}
	trace.Point(p.cfg.Bus, trace.Span{}, trace.Log{
		Level: trace.LevelWarn, Message: name + ": the path of the socket is too long, so it is not served",
		Attrs: []trace.KV{{K: "path", V: path}},
	})
}

// inRoot returns a path below the root directory.
func (p *parts) inRoot(names ...string) string {
	return filepath.Join(append([]string{filepath.Clean(p.cfg.Kubelet.Node.RootDir)}, names...)...)
}
