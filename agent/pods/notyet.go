package pods

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	podid "github.com/kubeloupe/kubeloupe/agent/pod"
	"github.com/kubeloupe/kubeloupe/trace"
)

// sayNotYet publishes which parts of a pod's spec this build does not act on, so
// that nobody waits for a probe that never runs.
func (m *Manager) sayNotYet(span trace.Span, pod *v1.Pod) {
	if fields := notActedOn(pod); len(fields) > 0 {
		trace.Point(m.cfg.Bus, trace.ForPod(span, podid.Ref(pod)), trace.Log{
			Level: "warn", Message: "this build does not act on " + strings.Join(fields, ", ") + " yet",
		})
	}
}

// notActedOn names the fields that a pod sets in vain.
func notActedOn(pod *v1.Pod) []string {
	var out []string
	note := func(set bool, format string, args ...any) {
		if set {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	for _, of := range []struct {
		kind string
		list []v1.Container
	}{{"initContainers", pod.Spec.InitContainers}, {"containers", pod.Spec.Containers}} {
		for i := range of.list {
			c := &of.list[i]
			at := fmt.Sprintf("spec.%s[%d]", of.kind, i)
			note(c.StartupProbe != nil, "%s.startupProbe", at)
			note(c.ReadinessProbe != nil, "%s.readinessProbe", at)
			note(c.LivenessProbe != nil, "%s.livenessProbe", at)
			note(c.Lifecycle != nil && c.Lifecycle.PostStart != nil, "%s.lifecycle.postStart", at)
			note(c.Lifecycle != nil && c.Lifecycle.PreStop != nil, "%s.lifecycle.preStop", at)
		}
	}
	note(pod.Spec.ActiveDeadlineSeconds != nil, "spec.activeDeadlineSeconds")
	note(len(pod.Spec.ReadinessGates) > 0, "spec.readinessGates")
	note(len(pod.Spec.EphemeralContainers) > 0, "spec.ephemeralContainers")
	note(len(pod.Spec.ImagePullSecrets) > 0, "spec.imagePullSecrets")
	note(pod.Spec.RuntimeClassName != nil, "spec.runtimeClassName")
	note(pod.Spec.HostUsers != nil && !*pod.Spec.HostUsers, "spec.hostUsers")
	return out
}
