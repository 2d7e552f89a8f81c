package status

import (
	"cmp"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

const (
	// maxChanges is how many differences are told in words, maxPatch how much of a patch in bytes.
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

// changes tells in words how b differs from a, as "Ready False → True".
func changes(a, b *v1.PodStatus) []string {
	var w words
	w.differ("phase", string(a.Phase), string(b.Phase))
	w.differ("reason", a.Reason, b.Reason)
	if a.Message != b.Message {
		w = append(w, "message")
	}
	for i := range b.Conditions {
		c, old := &b.Conditions[i], &v1.PodCondition{}
		if o := condition(a, c.Type); o != nil {
			old = o
		}
		w.differ(string(c.Type), verdict(old), verdict(c))
	}
	for i := range a.Conditions {
		if condition(b, a.Conditions[i].Type) == nil {
			w.differ(string(a.Conditions[i].Type), verdict(&a.Conditions[i]), "")
		}
	}
	w.containers("init ", a.InitContainerStatuses, b.InitContainerStatuses)
	w.containers("", a.ContainerStatuses, b.ContainerStatuses)
	w.containers("ephemeral ", a.EphemeralContainerStatuses, b.EphemeralContainerStatuses)
	w.differ("pod IP", a.PodIP, b.PodIP)
	w.differ("host IP", a.HostIP, b.HostIP)
	w.differ("observed generation", fmt.Sprint(a.ObservedGeneration), fmt.Sprint(b.ObservedGeneration))
	if len(w) == 0 {
		return []string{"details"}
	}
	if len(w) > maxChanges {
		return append(w[:maxChanges], fmt.Sprintf("%d more", len(w)-maxChanges))
	}
	return w
}

func verdict(c *v1.PodCondition) string {
	if c.Reason == "" {
		return string(c.Status)
	}
	return string(c.Status) + " (" + c.Reason + ")"
}

type words []string

func (w *words) differ(what, a, b string) {
	if a != b {
		*w = append(*w, fmt.Sprintf("%s %s → %s", what, cmp.Or(a, "-"), cmp.Or(b, "-")))
	}
}

func (w *words) containers(kind string, a, b []v1.ContainerStatus) {
	for i := range b {
		c, old := &b[i], &v1.ContainerStatus{}
		for j := range a {
			if a[j].Name == c.Name {
				old = &a[j]
			}
		}
		before := len(*w)
		name := kind + c.Name
		w.differ(name, state(&old.State), state(&c.State))
		w.differ(name+" ready", fmt.Sprint(old.Ready), fmt.Sprint(c.Ready))
		w.differ(name+" restarts", fmt.Sprint(old.RestartCount), fmt.Sprint(c.RestartCount))
		if len(*w) == before && !equality.Semantic.DeepEqual(old, c) {
			*w = append(*w, name+" details")
		}
	}
}

func state(s *v1.ContainerState) string {
	switch {
	case s.Running != nil:
		return "running"
	case s.Terminated != nil:
		return fmt.Sprintf("terminated (%s, %d)", s.Terminated.Reason, s.Terminated.ExitCode)
	case s.Waiting != nil && s.Waiting.Reason != "":
		return "waiting (" + s.Waiting.Reason + ")"
	case s.Waiting != nil:
		return "waiting"
	}
	return ""
}
