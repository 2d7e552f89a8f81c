package pods

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/qos"
	"github.com/kubeloupe/kubeloupe/agent/worker"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Config handles a change of a source.
func (m *Manager) Config(ctx context.Context, u podsource.Update) {
	span := trace.FromContext(ctx)
	for _, pod := range u.Pods {
		if m.delay(u.Op, pod) {
			continue
		}
		switch u.Op {
		case podsource.OpAdd:
			m.add(ctx, pod)
		case podsource.OpUpdate:
			m.update(ctx, pod)
		case podsource.OpReconcile:
			m.reconcile(ctx, pod)
		case podsource.OpDelete:
			m.delete(ctx, pod)
		case podsource.OpRemove:
			m.end(span, pod, "REMOVE", nil, true)
		case trace.OpSet:
		}
	}
	if u.AllSources && !m.SourcesReady() {
		close(m.complete)
		if m.cfg.Mirrors != nil {
			m.cfg.Mirrors.Complete()
		}
		m.tidy()
	}
	if frees := u.Op != podsource.OpAdd && u.Op != podsource.OpDelete; frees || m.undecided {
		m.retryResizes(ctx, triggerOf(u))
	}
}

func (m *Manager) add(ctx context.Context, pod *v1.Pod) {
	span := trace.ForPod(trace.FromContext(ctx), podspec.Ref(pod))
	if m.rejected[pod.UID] {
		return // also in another source; already reported
	}
	if m.cfg.Store.again(pod) {
		m.register(pod)
		m.cfg.Workers.Ask(pod.UID, worker.Ask{Pod: pod, Cause: worker.Cause{Text: "ADD", Span: span}})
		return
	}
	adopted := m.cfg.Seen.Get(pod.UID).Active()
	m.cfg.Store.put(pod, time.Now())
	if over(pod) && !adopted {
		m.cfg.Store.with(pod.UID, func(e *entry) { e.freed = true })
	}
	trace.Point(m.cfg.Bus, span, seen(pod, adopted))
	switch {
	case pod.DeletionTimestamp != nil:
		m.end(span, pod, "DELETE", pod.DeletionGracePeriodSeconds, false)
		return
	case over(pod):
		m.finish(span, pod)
		return
	}
	if m.cfg.Mirrors != nil && podspec.IsStatic(pod) {
		m.cfg.Mirrors.Add(pod)
	}
	if m.cfg.Starting != nil && !adopted {
		m.cfg.Starting()
	}
	// Fetch the pod's objects during admission and the creation of its sandbox.
	m.register(pod)
	v := m.admit(span, pod, adopted)
	if !v.OK {
		m.reject(ctx, pod, v)
		return
	}
	m.giveWay(ctx, pod, v.Preempt, v.Short)
	m.replace(span, pod)
	m.cfg.Workers.Ask(pod.UID, worker.Ask{Pod: m.allocate(pod), Cause: worker.Cause{Text: "ADD", Span: span}})
}

// over reports whether the pod has finished, according to its source: before this agent started, or because somebody else has set its phase.
func over(pod *v1.Pod) bool {
	return !podspec.IsStatic(pod) && trace.PodPhase(pod.Status.Phase).Terminal()
}

// finish releases the resources of a finished pod: an earlier agent may not have done so.
func (m *Manager) finish(span trace.Span, pod *v1.Pod) {
	m.cfg.Workers.Ask(pod.UID, worker.Ask{Pod: pod, End: true, Reason: "it has finished", Cause: worker.Cause{Text: "ADD", Span: span}})
}

func (m *Manager) register(pod *v1.Pod) {
	if m.cfg.Objects != nil {
		m.cfg.Objects.Register(pod)
	}
}

// reconcile handles a status that has changed in the API, usually written by this agent. Only conditions and a phase that others
// set may need work.
//
// Upstream: pkg/kubelet/kubelet.go, HandlePodReconcile.
func (m *Manager) reconcile(ctx context.Context, pod *v1.Pod) {
	claims, disrupted := m.claimsChanged(pod), m.disruptionChanged(pod)
	m.cfg.Store.put(pod, time.Now())
	m.observe(ctx, pod)
	if disrupted && m.cfg.PublishStatus != nil && !m.rejected[pod.UID] {
		m.cfg.PublishStatus(ctx, pod.UID)
	}
	if (len(pod.Spec.ReadinessGates) > 0 || claims || over(pod)) && !m.rejected[pod.UID] {
		m.cfg.Workers.Wake(pod.UID, worker.Cause{Text: "RECONCILE", Span: trace.FromContext(ctx)})
	}
}

// claimsChanged reports whether the pod's status has other names of ResourceClaims than before: a controller makes them.
func (m *Manager) claimsChanged(pod *v1.Pod) (changed bool) {
	m.cfg.Store.with(pod.UID, func(e *entry) {
		changed = !equality.Semantic.DeepEqual(e.pod.Status.ResourceClaimStatuses, pod.Status.ResourceClaimStatuses) ||
			!equality.Semantic.DeepEqual(e.pod.Status.ExtendedResourceClaimStatus, pod.Status.ExtendedResourceClaimStatus)
	})
	return changed
}

// disruptionChanged reports whether others have set or changed the pod's condition DisruptionTarget.
func (m *Manager) disruptionChanged(pod *v1.Pod) (changed bool) {
	target := func(p *v1.Pod) v1.PodCondition {
		i := slices.IndexFunc(p.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.DisruptionTarget })
		if i < 0 || p.Status.Conditions[i].Reason == v1.PodReasonTerminationByKubelet {
			return v1.PodCondition{}
		}
		return p.Status.Conditions[i]
	}
	m.cfg.Store.with(pod.UID, func(e *entry) { changed = !equality.Semantic.DeepEqual(target(e.pod), target(pod)) })
	return changed
}

// observe passes on the API's status, which may not be what this agent wrote.
func (m *Manager) observe(ctx context.Context, pod *v1.Pod) {
	if m.cfg.Statuses != nil && !podspec.IsStatic(pod) {
		m.cfg.Statuses.Observe(ctx, pod.UID, pod)
	}
}

// delete terminates a pod whose deletion the API requests. A rejected one has nothing to terminate.
func (m *Manager) delete(ctx context.Context, pod *v1.Pod) {
	m.cfg.Store.put(pod, time.Now())
	m.observe(ctx, pod)
	if m.rejected[pod.UID] {
		if m.cfg.Statuses != nil {
			m.cfg.Statuses.Gone(ctx, pod)
		}
		return
	}
	m.end(trace.FromContext(ctx), pod, "DELETE", pod.DeletionGracePeriodSeconds, false)
}

// replace terminates an earlier version of a static pod that was started before this agent: its manifest changed while
// no agent ran.
func (m *Manager) replace(span trace.Span, pod *v1.Pod) {
	if !podspec.IsStatic(pod) {
		return
	}
	for uid, old := range m.cfg.Seen.All() {
		same := old.Name == pod.Name && old.Namespace == pod.Namespace && uid != pod.UID
		if same && m.stranger(old) {
			m.orphan(trace.ForPod(span, trace.Pod{}), old, podspec.Source(pod), "its manifest has changed since")
		}
	}
}

func (m *Manager) unregister(pod *v1.Pod) {
	if m.cfg.Objects != nil {
		m.cfg.Objects.Unregister(pod)
	}
}

func (m *Manager) event(ctx context.Context, pod *v1.Pod, kind, reason, message string) {
	if m.cfg.Events != nil {
		m.cfg.Events.Pod(ctx, pod, "", kind, reason, message)
		return
	}
	trace.Point(m.cfg.Bus, trace.FromContext(ctx), trace.NodeEvent{Type: trace.EventType(kind), Reason: reason, Message: message})
}

func (m *Manager) update(ctx context.Context, pod *v1.Pod) {
	m.observe(ctx, pod)
	if m.rejected[pod.UID] {
		return
	}
	old := m.cfg.Store.Newest(pod.UID)
	m.unmet(ctx, old, pod)
	m.cfg.Store.put(pod, time.Now())
	m.register(pod)
	m.cfg.Workers.Ask(pod.UID, worker.Ask{Pod: m.resize(ctx, old, pod), Cause: worker.Cause{Text: "UPDATE", Span: trace.FromContext(ctx)}})
}

func (m *Manager) end(span trace.Span, pod *v1.Pod, why string, grace *int64, remove bool) {
	if m.rejected[pod.UID] {
		if remove {
			m.unregister(pod)
			if m.cfg.Statuses != nil {
				m.cfg.Statuses.Forget(pod.UID)
			}
			if m.cfg.Mirrors != nil {
				m.cfg.Mirrors.Remove(pod.UID)
			}
			if m.cfg.Forget != nil {
				m.cfg.Forget(pod.UID)
			}
			delete(m.rejected, pod.UID)
			m.cfg.Store.drop(pod.UID)
			trace.Point(m.cfg.Bus, trace.ForPod(span, podspec.Ref(pod)), trace.Milestone{Name: trace.MilestoneGone})
		}
		return
	}
	m.cfg.Store.with(pod.UID, func(e *entry) {
		if e.ended.IsZero() {
			e.ended = time.Now()
		}
		e.again, e.removed = nil, e.removed || remove
	})
	reason := "deleted"
	if remove {
		reason = "removed from its source"
	}
	m.cfg.Workers.Ask(pod.UID, worker.Ask{Pod: pod, End: true, Grace: grace, Remove: remove, Reason: reason, Cause: worker.Cause{Text: why, Span: span}})
}

func (m *Manager) tidy() {
	if m.cfg.Tidy != nil {
		m.cfg.Tidy()
	}
}

// seen returns the milestone of a pod that is seen for the first time.
func seen(pod *v1.Pod, adopted bool) trace.Milestone {
	out := trace.Milestone{
		Name: trace.MilestoneSeen, Source: trace.SourceName(podspec.Source(pod)), Adopted: adopted, Spec: describe(pod), Labels: trace.LabelsOf(pod.Labels),
	}
	if out.Source == trace.SourceAPI && pod.Status.StartTime == nil { // else an agent has begun with it
		out.Created = pod.CreationTimestamp.Time
	}
	return out
}

// describe returns the fields of a spec that views show.
func describe(pod *v1.Pod) *trace.PodSpec {
	spec := &trace.PodSpec{
		RestartPolicy: restartPolicy(pod.Spec.RestartPolicy), QoS: qosClass(qos.Class(pod)), HostNetwork: pod.Spec.HostNetwork,
		ReadinessGates: len(pod.Spec.ReadinessGates), UserNamespace: pod.Spec.HostUsers != nil && !*pod.Spec.HostUsers,
	}
	for i := range pod.Spec.InitContainers {
		spec.InitContainers = append(spec.InitContainers, describeContainer(&pod.Spec.InitContainers[i]))
	}
	for i := range pod.Spec.Containers {
		spec.Containers = append(spec.Containers, describeContainer(&pod.Spec.Containers[i]))
	}
	if pod.Spec.Resources != nil {
		spec.MemoryLimit = pod.Spec.Resources.Limits.Memory().Value()
	}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		spec.Volumes = append(spec.Volumes, v.Name)
		spec.Stateful = spec.Stateful || v.Secret == nil && v.ConfigMap == nil && v.DownwardAPI == nil && v.EmptyDir == nil && v.Projected == nil
	}
	return spec
}

func describeContainer(c *v1.Container) trace.ContainerSpec {
	return trace.ContainerSpec{Name: c.Name, Image: c.Image, MemoryLimit: c.Resources.Limits.Memory().Value()}
}

func restartPolicy(p v1.RestartPolicy) trace.RestartPolicy {
	switch p {
	case v1.RestartPolicyOnFailure:
		return trace.RestartOnFailure
	case v1.RestartPolicyNever:
		return trace.RestartNever
	case v1.RestartPolicyAlways:
	}
	return trace.RestartAlways // the default
}

func qosClass(c v1.PodQOSClass) trace.QoSClass {
	switch c {
	case v1.PodQOSGuaranteed:
		return trace.QoSGuaranteed
	case v1.PodQOSBurstable:
		return trace.QoSBurstable
	case v1.PodQOSBestEffort:
	}
	return trace.QoSBestEffort
}
