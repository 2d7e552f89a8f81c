package pods

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/agent/admit"
	podid "github.com/kubeloupe/kubeloupe/agent/pod"
	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/agent/qos"
	"github.com/kubeloupe/kubeloupe/agent/worker"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Config takes what a source changed.
func (m *Manager) Config(ctx context.Context, u podsource.Update) {
	span := trace.FromContext(ctx)
	for _, pod := range u.Pods {
		switch u.Op {
		case podsource.OpAdd:
			m.add(ctx, pod)
		case podsource.OpUpdate:
			m.update(span, pod)
		case podsource.OpReconcile:
			m.cfg.Workers.Wake(pod.UID, worker.Cause{Text: "RECONCILE", Span: span})
		case podsource.OpDelete:
			m.end(span, pod, "DELETE", pod.DeletionGracePeriodSeconds, false)
		case podsource.OpRemove:
			m.end(span, pod, "REMOVE", nil, true)
		}
	}
	if u.AllSources && !m.sources {
		m.sources = true
		m.tidy()
	}
}

func (m *Manager) add(ctx context.Context, pod *v1.Pod) {
	span := trace.ForPod(trace.FromContext(ctx), podid.Ref(pod))
	if m.rejected[pod.UID] {
		return // of another source too; it was told already
	}
	if m.cfg.Store.again(pod) {
		m.cfg.Workers.Ask(pod.UID, worker.Ask{Pod: pod, Cause: worker.Cause{Text: "ADD", Span: span}})
		return
	}
	adopted := m.cfg.Seen.Get(pod.UID).Active()
	m.cfg.Store.put(pod, time.Now())
	trace.Point(m.cfg.Bus, span, trace.Milestone{Name: "seen", Source: podid.Source(pod), Adopted: adopted, Spec: describe(pod)})
	v := admit.Check(admit.Inputs{Pod: pod, Others: m.cfg.Store.active(pod.UID), MaxPods: m.cfg.MaxPods})
	d := trace.Decision{By: "admission", Subject: podid.Ref(pod).String(), Verdict: "admit", Reason: "nothing speaks against it"}
	if adopted {
		d.Reason = "its containers run already: it is adopted"
	} else if !v.OK {
		d.Verdict, d.Reason = "reject", v.Reason+": "+v.Message
	}
	trace.Point(m.cfg.Bus, span, d)
	if d.Verdict == "reject" {
		m.reject(span, pod, v)
		return
	}
	m.sayNotYet(span, pod)
	m.replace(span, pod)
	m.cfg.Workers.Ask(pod.UID, worker.Ask{Pod: pod, Cause: worker.Cause{Text: "ADD", Span: span}})
}

// replace ends an earlier version of a static pod that runs from before this
// agent's time: its manifest changed while nobody looked.
func (m *Manager) replace(span trace.Span, pod *v1.Pod) {
	if !podid.IsStatic(pod) {
		return
	}
	for uid, old := range m.cfg.Seen.All() {
		same := old.Name == pod.Name && old.Namespace == pod.Namespace && uid != pod.UID
		if same && m.stranger(old) {
			m.orphan(trace.ForPod(span, trace.Pod{}), old, podid.Source(pod), "its manifest has changed since")
		}
	}
}

func (m *Manager) reject(span trace.Span, pod *v1.Pod, v admit.Verdict) {
	m.rejected[pod.UID] = true
	m.cfg.Store.with(pod.UID, func(e *entry) {
		e.status = v1.PodStatus{
			Phase: v1.PodFailed, Reason: v.Reason, Message: "Pod was rejected: " + v.Message, StartTime: new(metav1.Now()), QOSClass: qos.Class(pod),
		}
		e.said = statusRecord(e.status, "")
		trace.Point(m.cfg.Bus, span, e.said)
	})
	trace.Point(m.cfg.Bus, span, trace.NodeEvent{Type: "Warning", Reason: v.Reason, Message: v.Message})
}

func (m *Manager) update(span trace.Span, pod *v1.Pod) {
	if m.rejected[pod.UID] {
		return
	}
	m.cfg.Store.put(pod, time.Now())
	m.cfg.Workers.Ask(pod.UID, worker.Ask{Pod: pod, Cause: worker.Cause{Text: "UPDATE", Span: span}})
}

func (m *Manager) end(span trace.Span, pod *v1.Pod, why string, grace *int64, remove bool) {
	if m.rejected[pod.UID] {
		if remove {
			delete(m.rejected, pod.UID)
			m.cfg.Store.drop(pod.UID)
			trace.Point(m.cfg.Bus, trace.ForPod(span, podid.Ref(pod)), trace.Milestone{Name: "gone"})
		}
		return
	}
	m.cfg.Store.with(pod.UID, func(e *entry) {
		if e.ended.IsZero() {
			e.ended = time.Now()
		}
		e.again = nil
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

// describe is what views show of a spec.
func describe(pod *v1.Pod) *trace.PodSpec {
	spec := &trace.PodSpec{
		RestartPolicy: string(pod.Spec.RestartPolicy), QoS: string(qos.Class(pod)), HostNetwork: pod.Spec.HostNetwork,
	}
	for i := range pod.Spec.InitContainers {
		spec.InitContainers = append(spec.InitContainers, trace.ContainerSpec{Name: pod.Spec.InitContainers[i].Name, Image: pod.Spec.InitContainers[i].Image})
	}
	for i := range pod.Spec.Containers {
		spec.Containers = append(spec.Containers, trace.ContainerSpec{Name: pod.Spec.Containers[i].Name, Image: pod.Spec.Containers[i].Image})
	}
	for i := range pod.Spec.Volumes {
		spec.Volumes = append(spec.Volumes, pod.Spec.Volumes[i].Name)
	}
	return spec
}
