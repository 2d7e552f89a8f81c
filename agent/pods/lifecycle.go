package pods

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/pleg"
	"github.com/kubeloupe/kubeloupe/agent/probe"
	"github.com/kubeloupe/kubeloupe/agent/worker"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Lifecycle handles a change in the runtime.
func (m *Manager) Lifecycle(ctx context.Context, e pleg.Event) {
	if m.cfg.Probes != nil {
		m.cfg.Probes.Changed(e.UID)
	}
	if m.cfg.Workers.Wake(e.UID, worker.Cause{Text: string(e.Type), Span: trace.FromContext(ctx)}) {
		return
	}
	// An event of a pod without a worker: a terminated pod's remains, or an unknown pod.
	if e.Type != pleg.ContainerRemoved && m.SourcesReady() && m.cfg.Workers.State(e.UID) == worker.None && m.cfg.Seen.Get(e.UID).Active() {
		m.tidy()
	}
}

// Sync requests a sync of a pod whose retry is due.
func (m *Manager) Sync(ctx context.Context, uid types.UID) {
	m.cfg.Workers.Wake(uid, worker.Cause{Text: "due", Span: trace.FromContext(ctx), Retry: true})
}

// Probed handles a changed probe result: the status of a container that is started or not ready is published at once, and a container whose
// probe failed is replaced.
//
// Upstream: pkg/kubelet/kubelet.go, syncLoopIteration, handleProbeSync.
func (m *Manager) Probed(ctx context.Context, u probe.Update) {
	if m.cfg.PublishStatus != nil {
		m.cfg.PublishStatus(ctx, u.UID)
	}
	if u.Probe == probe.Readiness {
		return // only the status changes
	}
	m.cfg.Workers.Wake(u.UID, worker.Cause{Text: u.Probe.String() + " probe: " + u.Result.String(), Span: trace.FromContext(ctx)})
}
