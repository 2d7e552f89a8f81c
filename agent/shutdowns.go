package agent

import (
	"context"
	"path/filepath"
	"runtime"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/shutdown"
)

// newShutdown adds the graceful shutdown of the node, if it is configured. A simulated runtime has no pods that would need it, and its machine
// is not a node.
func (p *parts) newShutdown() (err error) {
	k := p.cfg.Kubelet
	if p.cfg.Simulated || runtime.GOOS != "linux" || !k.Gates.Enabled("GracefulNodeShutdown") {
		return nil
	}
	s := shutdown.Settings{Total: k.Kubelet.ShutdownGracePeriod.Duration, Critical: k.Kubelet.ShutdownGracePeriodCriticalPods.Duration}
	c := shutdown.Config{
		Connect: shutdown.Bus{}.Connect, Pods: endable{p}, Changed: func() { p.self.Changed(); p.nodeChanged() }, Events: p.cluster.events, Bus: p.cfg.Bus,
	}
	if k.Gates.Enabled("GracefulNodeShutdownBasedOnPodPriority") {
		s.ByPriority = k.Kubelet.ShutdownGracePeriodByPodPriority
		c.StateFile = filepath.Join(k.Node.RootDir, shutdown.StateFile)
	}
	if c.Periods = s.Periods(); len(c.Periods) == 0 {
		return nil
	}
	if p.host.shutdown, err = shutdown.New(c); err != nil {
		return err
	}
	p.add("graceful shutdown", p.host.shutdown.Run)
	return nil
}

// shuttingDown reports whether the node is shutting down.
func (p *parts) shuttingDown() bool { return p.host.shutdown != nil && p.host.shutdown.Underway() }

// notReady returns why the node is not ready.
func (p *parts) notReady() []error {
	u := unready{runtime: p.state.RuntimeError(), pleg: p.pleg.Hung(), network: p.state.NetworkError(), storage: p.noCSINode()}
	if p.host.shutdown != nil {
		u.shutdown = p.host.shutdown.NotReady()
	}
	return u.errs()
}

// unready has what may make a node unready; nil fields do not.
type unready struct{ runtime, pleg, network, storage, shutdown error }

// errs returns the errors in the order of the Ready condition's message.
//
// Upstream: pkg/kubelet/nodestatus/setters.go, ReadyCondition; pkg/kubelet/runtime.go, runtimeErrors.
func (u unready) errs() []error {
	all := []error{u.runtime, u.pleg, u.network, u.storage, u.shutdown}
	return slices.DeleteFunc(all, func(err error) bool { return err == nil })
}

// endable implements shutdown.Pods.
type endable struct{ p *parts }

// Active implements shutdown.Pods. A pod of which admission has asked before whether the node is shutting down, and that has no worker yet,
// will run, too.
func (e endable) Active() []*v1.Pod {
	w := &e.p.pods
	coming := w.store.Coming(w.registry.State) // before the others: it may get its worker meanwhile
	out := w.registry.Unended()
	known := map[types.UID]bool{}
	for _, pod := range out {
		known[pod.UID] = true
	}
	return append(out, slices.DeleteFunc(coming, func(pod *v1.Pod) bool { return known[pod.UID] })...)
}

// Known implements shutdown.Pods.
func (e endable) Known() <-chan struct{} { return e.p.pods.manager.Complete() }

// ShutDown implements shutdown.Pods.
func (e endable) ShutDown(ctx context.Context, pod *v1.Pod, grace int64) {
	e.p.pods.manager.ShutDown(ctx, pod, grace)
}

// Ended implements shutdown.Pods.
func (e endable) Ended(uid types.UID) bool { return e.p.pods.registry.Cleaned(uid) }

// Written implements shutdown.Pods.
func (e endable) Written(uid types.UID) bool {
	return e.p.cluster.statuses == nil || e.p.cluster.statuses.Written(uid)
}
