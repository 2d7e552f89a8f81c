package agent

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/lastwords"
	"github.com/kubeloupe/kubeloupe/agent/loop"
	"github.com/kubeloupe/kubeloupe/agent/podruntime"
	"github.com/kubeloupe/kubeloupe/agent/pods"
	"github.com/kubeloupe/kubeloupe/agent/worker"
)

// newWorkers makes what works for pods, from the runtime half up to the manager.
func (p *parts) newWorkers(ctx context.Context, rt *podruntime.Runtime, runtimeName string) (err error) {
	p.due, p.tidy = make(chan types.UID, 1024), make(chan struct{}, 1)
	syncer := pods.SyncerConfig{
		Runtime: rt, Network: p.state, Store: p.store, Bus: p.cfg.Bus, Status: p.statusFunc(runtimeName), Probes: adopting{p.prober, p}, Volumes: p.volumes, LogsBy: p.logsBy, LastWords: lastwords.New(p.files).Read, Forget: p.forget,
		Victim: func(uid types.UID) bool {
			state := p.workers.State(uid)
			return state == worker.Syncing || state == worker.Terminating
		},
	}
	p.cluster.joinSyncer(&syncer)
	if p.syncer, err = pods.NewSyncer(syncer); err != nil {
		return err
	}
	p.workers, err = worker.New(worker.Config{Syncer: p.syncer, Bus: p.cfg.Bus, Due: func(uid types.UID) {
		select {
		case p.due <- uid:
		case <-ctx.Done():
		}
	}})
	if err != nil {
		return err
	}
	manager := pods.Config{
		Workers: p.workers, Seen: p.pleg.Cache(), Store: p.store, MaxPods: int(p.cfg.Kubelet.Pods.Max), Bus: p.cfg.Bus,
		Orphans: p.orphans(), Node: p.admission, Probes: p.prober, PublishStatus: p.syncer.PublishStatus, Resizes: p.resizes, Starting: p.usage.Nudge, Forget: p.forget,
		Tidy: func() {
			select {
			case p.tidy <- struct{}{}:
			default: // it is asked for already
			}
		},
	}
	p.cluster.joinManager(&manager)
	p.manager, err = pods.New(manager)
	return err
}

// forget drops what parts keep of a pod of which nothing is left.
func (p *parts) forget(uid types.UID) {
	p.resizes.Forget(uid)
	p.cfg.secrets.Forget(string(uid))
	if p.cluster.podCerts != nil {
		p.cluster.podCerts.Forget(uid)
	}
}

func (p *parts) newLoop() (*loop.Loop, error) {
	return loop.New(loop.Config{
		Handler: p.manager, Ready: p.state, Updates: p.mux.Updates(), Lifecycle: p.pleg.Events(), Due: p.due, Tidy: p.tidy,
		Probes: p.prober.Updates(), Bus: p.cfg.Bus,
	})
}
