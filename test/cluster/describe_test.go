package cluster

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubeloupe/kubeloupe/inspect/why"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestDescribe compares what the API server has of pods that are not well, which is what kubectl describe shows, with why's answer.
func TestDescribe(t *testing.T) {
	b := setup(t)
	a := b.node(t)
	s := b.space(t)
	pods := unwell()
	for _, p := range pods {
		s.create(p)
	}
	for _, p := range pods {
		eventually(t, "why tells as much of "+p.Name+" as the API server", func() string {
			r, said := b.why(t, a, s.name+"/"+p.Name)
			if r == nil {
				return said
			}
			now, err := s.get(p.Name)
			if err != nil {
				return err.Error()
			}
			events, err := b.client.CoreV1().Events(s.name).List(t.Context(), metav1.ListOptions{FieldSelector: "type=Warning,involvedObject.name=" + p.Name})
			if err != nil {
				return err.Error()
			}
			return more(now, events.Items, r)
		})
	}
	for _, p := range pods {
		s.delete(0, p.Name)
	}
	s.gone()
}

// unwell are pods that fail in different ways, each with what describe tells of it.
func unwell() []*v1.Pod {
	image := pod("image", "sleep 1000")
	image.Spec.Containers[0].Image = "localhost:1/none:1"
	crash := pod("crash", "exit 3")
	start := pod("start", "")
	start.Spec.Containers[0].Command = []string{"/no/such/program"}
	object := pod("object", "sleep 1000")
	object.Spec.Containers[0].EnvFrom = []v1.EnvFromSource{{ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "none"}}}}
	mount := pod("mount", "sleep 1000")
	mount.Spec.Volumes = []v1.Volume{{Name: "key", VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "none"}}}}
	mount.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "key", MountPath: "/key"}}
	probe := pod("probe", "sleep 1000")
	probe.Spec.Containers[0].ReadinessProbe = &v1.Probe{PeriodSeconds: 1, ProbeHandler: v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt32(1)}}}
	setup := pod("setup", "sleep 1000")
	setup.Spec.InitContainers = []v1.Container{container("init", "exit 4")}
	large := pod("large", "sleep 1000")
	large.Spec.Containers[0].Resources = resources("1000", "1Mi")
	return []*v1.Pod{image, crash, start, object, mount, probe, setup, large}
}

// why asks the program about a pod; the report is nil where it has none yet, and the text says why.
func (b *bench) why(t *testing.T, a *agent, pod string) (*why.Report, string) {
	t.Helper()
	out, err := runProgram(t.Context(), b.binary, "why", pod, "--socket="+filepath.Join(a.RootDir, "kubeloupe.sock"), "-o", "json")
	r := &why.Report{}
	if err != nil {
		return nil, fmt.Sprintf("%v: %.200s", err, out)
	}
	if err := json.Unmarshal([]byte(out), r); err != nil {
		return nil, err.Error()
	}
	return r, ""
}

// more is what the API has of a pod and a report has not; "" if that is nothing, and if the API has something.
func more(p *v1.Pod, events []v1.Event, r *why.Report) string {
	var missing []string
	told := 0
	need := func(has bool, what string, args ...any) {
		if told++; !has {
			missing = append(missing, fmt.Sprintf(what, args...))
		}
	}
	need(r.Phase == string(p.Status.Phase) && r.Reason == p.Status.Reason, "phase %s %s", p.Status.Phase, p.Status.Reason)
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		at := slices.IndexFunc(r.Containers, func(o trace.ContainerStatus) bool { return o.Name == c.Name })
		if at < 0 {
			need(false, "container %s", c.Name)
			continue
		}
		is := &r.Containers[at]
		need(is.Restarts == int(c.RestartCount), "%d restarts of %s", c.RestartCount, c.Name)
		if w := c.State.Waiting; w != nil {
			need(is.State == trace.ContainerWaiting && is.Reason == w.Reason, "%s waits: %s", c.Name, w.Reason)
		}
		if e := c.State.Terminated; e != nil {
			need(is.State == trace.ContainerTerminated && is.Reason == e.Reason && is.ExitCode == e.ExitCode, "%s ended: %s, %d", c.Name, e.Reason, e.ExitCode)
		}
		if e := c.LastTerminationState.Terminated; e != nil {
			need(is.Last != nil && is.Last.Reason == e.Reason && is.Last.ExitCode == e.ExitCode, "%s ended before: %s, %d", c.Name, e.Reason, e.ExitCode)
		}
	}
	for _, e := range events {
		if e.Source.Component == "default-scheduler" {
			continue
		}
		need(slices.ContainsFunc(r.Warnings, func(w why.Warning) bool {
			has := func(said string) bool { return strings.Contains(said, strings.TrimSpace(e.Message)) }
			return w.Reason == e.Reason && w.Field == e.InvolvedObject.FieldPath && (w.Count > 2 || has(w.Message) || has(w.FirstMessage))
		}), "Event %s: %s", e.Reason, e.Message)
	}
	if len(events) == 0 {
		return "the API has no warning yet"
	}
	if len(missing) > 0 {
		return "missing: " + strings.Join(missing, "; ")
	}
	return ""
}
