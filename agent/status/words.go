package status

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// maxChanges limits how many differences are published, maxPatch how much of a patch, in bytes.
	maxChanges = 12
	maxPatch   = 2 << 10
)

// cut shortens a patch for publishing.
func cut(patch string) string {
	if len(patch) <= maxPatch {
		return patch
	}
	return patch[:maxPatch] + "…"
}

// changes returns the differences between a and b, and how many more there are.
func changes(a, b *v1.PodStatus) (w changeList, more int) {
	w.differ("phase", string(a.Phase), string(b.Phase))
	w.differ("reason", a.Reason, b.Reason)
	if a.Message != b.Message {
		w = append(w, trace.Change{What: trace.ChangeField, Name: "message"})
	}
	for i := range b.Conditions {
		c, old := &b.Conditions[i], &v1.PodCondition{}
		if o := condition(a, c.Type); o != nil {
			old = o
		}
		w.condition(old, c)
	}
	for i := range a.Conditions {
		if old := &a.Conditions[i]; condition(b, old.Type) == nil {
			w.condition(old, &v1.PodCondition{Type: old.Type})
		}
	}
	w.containers(trace.ChangeInit, a.InitContainerStatuses, b.InitContainerStatuses)
	w.containers(trace.ChangeContainer, a.ContainerStatuses, b.ContainerStatuses)
	w.containers(trace.ChangeEphemeral, a.EphemeralContainerStatuses, b.EphemeralContainerStatuses)
	w.differ("pod IP", a.PodIP, b.PodIP)
	w.differ("host IP", a.HostIP, b.HostIP)
	w.differ("observed generation", fmt.Sprint(a.ObservedGeneration), fmt.Sprint(b.ObservedGeneration))
	if !equality.Semantic.DeepEqual(a.VolumeHealth, b.VolumeHealth) {
		w = append(w, trace.Change{What: trace.ChangeField, Name: "volume health"})
	}
	if len(w) == 0 {
		return changeList{{What: trace.ChangeField, Name: "details"}}, 0
	}
	if len(w) > maxChanges {
		return w[:maxChanges], len(w) - maxChanges
	}
	return w, 0
}

type changeList []trace.Change

func (w *changeList) differ(what, a, b string) {
	if a != b {
		*w = append(*w, trace.Change{What: trace.ChangeField, Name: what, From: a, To: b})
	}
}

// condition adds a changed status or reason.
func (w *changeList) condition(a, b *v1.PodCondition) {
	c := trace.Change{
		What: trace.ChangeCondition, Name: string(b.Type), From: string(a.Status), FromReason: a.Reason, To: string(b.Status), Reason: b.Reason,
	}
	if c.From != c.To || c.FromReason != c.Reason {
		*w = append(*w, c)
	}
}

func (w *changeList) containers(kind trace.ChangeKind, a, b []v1.ContainerStatus) {
	for i := range b {
		c, old := &b[i], &v1.ContainerStatus{}
		for j := range a {
			if a[j].Name == c.Name {
				old = &a[j]
			}
		}
		before := len(*w)
		of := trace.Change{What: kind, Name: c.Name}
		of.From, of.FromReason, of.FromCode = state(&old.State)
		of.To, of.Reason, of.Code = state(&c.State)
		if of.From != of.To || of.FromReason != of.Reason || of.FromCode != of.Code {
			*w = append(*w, of)
		}
		field := func(name string, from, to any) {
			if from != to {
				*w = append(*w, trace.Change{What: kind, Name: c.Name, Field: name, From: fmt.Sprint(from), To: fmt.Sprint(to)})
			}
		}
		field("ready", old.Ready, c.Ready)
		field("restarts", old.RestartCount, c.RestartCount)
		if len(*w) == before && !equality.Semantic.DeepEqual(old, c) {
			*w = append(*w, trace.Change{What: kind, Name: c.Name, Field: "details"})
		}
	}
}

func state(s *v1.ContainerState) (state, reason string, code int32) {
	switch {
	case s.Running != nil:
		return "running", "", 0
	case s.Terminated != nil:
		return "terminated", s.Terminated.Reason, s.Terminated.ExitCode
	case s.Waiting != nil:
		return "waiting", s.Waiting.Reason, 0
	}
	return "", "", 0
}
