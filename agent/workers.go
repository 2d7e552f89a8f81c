package agent

import (
	"context"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/cgroup"
	"github.com/kubeloupe/kubeloupe/agent/device"
	"github.com/kubeloupe/kubeloupe/agent/dra"
	"github.com/kubeloupe/kubeloupe/agent/image"
	"github.com/kubeloupe/kubeloupe/agent/lifecycle"
	"github.com/kubeloupe/kubeloupe/agent/loop"
	"github.com/kubeloupe/kubeloupe/agent/pluginwatch"
	"github.com/kubeloupe/kubeloupe/agent/podruntime"
	"github.com/kubeloupe/kubeloupe/agent/pods"
	"github.com/kubeloupe/kubeloupe/agent/podsapi"
	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/agent/probe"
	"github.com/kubeloupe/kubeloupe/agent/resize"
	"github.com/kubeloupe/kubeloupe/agent/terminationmessage"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/worker"
	"github.com/kubeloupe/kubeloupe/trace"
)

// podParts are the parts that handle the node's pods.
type podParts struct {
	notices  *volume.Notices   // changes that concern volumes
	watchers *podsapi.Watchers // clients of the pods API
	devices  *device.Manager
	claims   *dra.Manager
	// plugins are the handlers of plugins that register in ROOT/plugins_registry, by type.
	plugins  map[string]pluginwatch.Handler
	sockets  *pluginwatch.Watcher // of those plugins
	store    *pods.Store
	cgroups  *cgroup.Pods
	hooks    *lifecycle.Runner
	images   *image.Puller
	logins   string // the hash of the configuration of credential providers; empty without one
	registry *worker.Registry
	resizes  *resize.Manager
	seen     *atomic.Pointer[v1.Node] // the node's object as last seen, for retry
	retry    func()                   // has resizes tried again that wait for the node; nil before the workers are built
	prober   *probe.Prober
	syncer   *pods.Syncer
	workers  *worker.Manager
	manager  *pods.Manager
}

// newWorkers creates the parts that handle pods, from the syncer up to the manager.
func (p *parts) newWorkers(ctx context.Context, rt *podruntime.Runtime, a *loop.Requests) (err error) {
	w, cache, gates := &p.pods, p.pleg.Cache(), p.cfg.Kubelet.Gates
	w.retry = func() { a.Freed(trace.ResizeForNode) }
	syncer := pods.SyncerConfig{
		Runtime: rt, Network: p.state, Store: w.store, Bus: p.cfg.Bus, Probes: w.prober, Volumes: p.volumes,
		Observer: observer{p.pleg}, Starting: p.usage.Work, LastWords: terminationmessage.New(p.files).Read, Forget: p.forget, Victim: w.registry.Running, Evicting: p.evicting, Release: p.host.managers.Release,
		Freed: func() {
			if w.resizes.AnyWaiting() {
				a.Freed(trace.ResizeForTerminated)
			}
		},
		LogsBy: func(uid types.UID) time.Time { return terminationmessage.CompleteBy(cache.Get(uid)) },
		Status: pods.NewStatus(pods.StatusConfig{
			Seen: cache, Resizes: w.resizes, Probes: w.prober, Workers: w.registry, Runtime: p.client.Info.GetRuntimeName(),
			HostIPs: p.hostIPs, Family: p.podFamily(), RecursiveReadOnly: p.recursiveReadOnly, Secrets: p.cfg.secrets, Devices: p.deviceHealth(), Claims: p.cfg.Kubelet.Cgroups.Claims,
			StopSignals: gates.Enabled("ContainerStopSignals"), ImageDigests: gates.Enabled("ImageVolumeWithDigest"),
		}),
	}
	syncer.Devices = p.pods.devices
	p.cluster.joinSyncer(&syncer)
	if w.syncer, err = pods.NewSyncer(syncer); err != nil {
		return err
	}
	if w.workers, err = worker.New(worker.Config{Syncer: w.syncer, Registry: w.registry, Bus: p.cfg.Bus, Due: a.Sync(ctx)}); err != nil {
		return err
	}
	manager := pods.Config{
		Workers: w.workers, Seen: cache, Store: w.store, MaxPods: int(p.cfg.Kubelet.Pods.Max), Bus: p.cfg.Bus,
		Orphans: p.orphans(), Node: p.admission, Features: p.host.features, Probes: w.prober, PublishStatus: w.syncer.PublishStatus, Resizes: w.resizes,
		Starting: p.usage.Nudge, Forget: p.forget, Tidy: a.Housekeep, Devices: p.pods.devices, Resources: p.host.managers,
	}
	p.cluster.joinManager(&manager)
	w.manager, err = pods.New(manager)
	return err
}

// recursiveReadOnly reports whether the pod's runtime handler can mount recursively read-only, as far as that is known.
func (p *parts) recursiveReadOnly(pod *v1.Pod) bool {
	f, err := p.state.Supports(p.cluster.classes.Last(pod))
	return err == nil && f.GetRecursiveReadOnlyMounts()
}

// forget removes all state of a pod that is gone.
func (p *parts) forget(uid types.UID) {
	p.pods.resizes.Forget(uid)
	p.cfg.secrets.Forget(string(uid))
	if p.cluster.podCerts != nil {
		p.cluster.podCerts.Forget(uid)
	}
}

func (p *parts) newLoop(mux *podsource.Mux, a *loop.Requests) (*loop.Loop, error) {
	return loop.New(loop.Config{
		Handler: p.pods.manager, Ready: p.state, Updates: mux.Updates(), Lifecycle: p.pleg.Events(), Requests: a,
		Probes: p.pods.prober.Updates(), Bus: p.cfg.Bus,
	})
}
