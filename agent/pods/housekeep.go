package pods

import (
	"context"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/agent/worker"
	"github.com/kubeloupe/kubeloupe/trace"
)

// orphanGrace is the grace period of the containers of unknown pods, in seconds. Upstream: pkg/kubelet/kubelet_pods.go,
// HandlePodCleanups.
const orphanGrace = 1

// Housekeep terminates running pods that no source has, and makes Run clean up their remains: this may take long, and the syncLoop
// does not wait. It does nothing before every source has reported once.
//
// Upstream: pkg/kubelet/kubelet_pods.go, HandlePodCleanups.
func (m *Manager) Housekeep(ctx context.Context) string {
	if !m.SourcesReady() {
		return "not every source has reported: nothing is removed"
	}
	span := trace.FromContext(ctx)
	did := m.addDelayed(ctx)
	all := m.cfg.Seen.All()
	for _, seen := range all {
		if m.stranger(seen) {
			m.orphan(span, seen, podspec.SourceFile, "no source has it")
			did = append(did, "ended "+seen.Namespace+"/"+seen.Name)
		}
	}
	m.cfg.Store.forgetGone(all)
	m.forgetResizes()
	did = append(did, m.finishEnding(span)...)
	select {
	case m.clean <- span:
	default: // already requested
	}
	return strings.Join(did, "; ")
}

// forgetResizes removes what pods were allocated that are gone: an earlier agent had them.
func (m *Manager) forgetResizes() {
	if m.cfg.Resizes != nil {
		m.cfg.Resizes.Keep(func(uid types.UID) bool { return m.cfg.Store.Known(uid) || m.cfg.Workers.State(uid) != worker.None })
	}
}

// stranger reports whether a pod that the runtime has is unknown. A pod in an observation from before it was gone is
// not.
func (m *Manager) stranger(seen *podstate.Pod) bool {
	return m.cfg.Workers.State(seen.UID) == worker.None && !m.cfg.Store.Known(seen.UID) && !m.cfg.Store.outlived(seen.UID, seen.At)
}

// finishEnding terminates pods again that should terminate and have no worker: they were added and removed again at the
// moment when their earlier life ended.
func (m *Manager) finishEnding(span trace.Span) (did []string) {
	for _, pod := range m.cfg.Store.ending() {
		if m.cfg.Workers.State(pod.UID) == worker.None {
			m.end(span, pod, "housekeeping", nil, true)
			did = append(did, "ended "+pod.Namespace+"/"+pod.Name)
		}
	}
	return did
}

// orphan terminates a running pod that no source has. Its spec is what the runtime knows.
func (m *Manager) orphan(span trace.Span, seen *podstate.Pod, source, why string) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: seen.Name, Namespace: seen.Namespace, UID: seen.UID,
		Annotations: map[string]string{podspec.AnnotationSource: source},
	}}
	for _, c := range seen.Containers {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: c.Name, Image: c.Image})
	}
	span = trace.ForPod(span, podspec.Ref(pod))
	trace.Point(m.cfg.Bus, span, trace.Decision{
		By: trace.ByHousekeeping, Subject: podspec.Ref(pod).String(), Verdict: trace.VerdictRemove, Reason: why,
		Inputs: []trace.KV{{K: "containers", V: fmt.Sprint(len(seen.Containers))}, {K: "active", V: fmt.Sprint(seen.Active())}},
	})
	trace.Point(m.cfg.Bus, span, trace.Milestone{Name: trace.MilestoneTerminating, Adopted: true})
	m.delayed.orphans[seen.UID] = true
	m.cfg.Workers.Ask(seen.UID, worker.Ask{
		Pod: pod, End: true, Grace: new(int64(orphanGrace)), Remove: true, Reason: why, Cause: worker.Cause{Text: "housekeeping", Span: span},
	})
}
