package podruntime

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri"
	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/agent/redact"
)

// withoutSecrets returns a copy of the pod without values whose names look like secrets, and without the annotation in
// which kubectl stores whole manifests.
func withoutSecrets(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	pod.ManagedFields = nil
	for k := range pod.Annotations {
		if cri.IsSecret(k) || strings.HasSuffix(k, "last-applied-configuration") {
			pod.Annotations[k] = redact.Mark
		}
	}
	for c := range podspec.Each(pod) {
		hideIn(c)
	}
	for i := range pod.Spec.EphemeralContainers {
		c := v1.Container(pod.Spec.EphemeralContainers[i].EphemeralContainerCommon)
		hideIn(&c) // hideIn changes shared values
	}
	return pod
}

// hideIn blanks a container's values whose names look like secrets: variables and HTTP headers.
func hideIn(c *v1.Container) {
	for i := range c.Env {
		if v := &c.Env[i]; v.Value != "" && cri.IsSecret(v.Name) {
			v.Value = redact.Mark
		}
	}
	for _, p := range []*v1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		if p != nil {
			hideHeaders(p.HTTPGet)
		}
	}
	if c.Lifecycle != nil {
		for _, h := range []*v1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if h != nil {
				hideHeaders(h.HTTPGet)
			}
		}
	}
}

func hideHeaders(get *v1.HTTPGetAction) {
	if get == nil {
		return
	}
	for i := range get.HTTPHeaders {
		if cri.IsSecret(get.HTTPHeaders[i].Name) {
			get.HTTPHeaders[i].Value = redact.Mark
		}
	}
}

// shownHook returns a copy of a handler without secrets; nil for nil.
func shownHook(h *v1.LifecycleHandler) *v1.LifecycleHandler {
	if h = h.DeepCopy(); h != nil {
		hideHeaders(h.HTTPGet)
	}
	return h
}

// seenStatus is the runtime's state of a pod, for people.
type seenStatus struct {
	PodIPs     []string          `json:"podIPs,omitempty"`
	Sandboxes  []seenSandbox     `json:"sandboxes,omitempty"`
	Containers []seenContainer   `json:"containers,omitempty"`
	Waiting    map[string]Reason `json:"waiting,omitempty"`
	// API is the status that the pod's source gave, if any.
	API *v1.PodStatus `json:"api,omitempty"`
}

// blank removes the pod's secrets from texts of other programs.
func (r *run) blank(s *v1.PodStatus) {
	texts := []*string{&s.Message}
	for _, list := range [][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses} {
		for i := range list {
			for _, state := range []*v1.ContainerState{&list[i].State, &list[i].LastTerminationState} {
				if state.Waiting != nil {
					texts = append(texts, &state.Waiting.Message)
				}
				if state.Terminated != nil {
					texts = append(texts, &state.Terminated.Message)
				}
			}
		}
	}
	for i := range s.Conditions {
		texts = append(texts, &s.Conditions[i].Message)
	}
	for _, t := range texts {
		*t = r.cfg.Secrets.Text(r.ref.UID, *t)
	}
}

type seenSandbox struct {
	ID      string   `json:"id"`
	Attempt uint32   `json:"attempt"`
	Ready   bool     `json:"ready"`
	IPs     []string `json:"ips,omitempty"`
}

type seenContainer struct {
	Name       string    `json:"name"`
	ID         string    `json:"id"`
	State      string    `json:"state"`
	Attempt    uint32    `json:"attempt"`
	StartedAt  time.Time `json:"startedAt,omitzero"`
	FinishedAt time.Time `json:"finishedAt,omitzero"`
	ExitCode   int32     `json:"exitCode,omitempty"`
	Reason     string    `json:"reason,omitempty"`
	Message    string    `json:"message,omitempty"`
}

// status returns the current state, or the plan's if that is newer.
func (r *run) status() seenStatus {
	seen := r.cfg.Observer.Get(r.pod.UID)
	if seen == nil || r.seen != nil && r.seen.At.After(seen.At) {
		seen = r.seen
	}
	out := seenStatus{PodIPs: r.podIPs, Waiting: r.Reasons(r.pod.UID)}
	if r.pod.Status.Phase != "" {
		out.API = r.pod.Status.DeepCopy()
		r.blank(out.API)
	}
	if seen == nil {
		return out
	}
	for i := range seen.Sandboxes {
		s := &seen.Sandboxes[i]
		out.Sandboxes = append(out.Sandboxes, seenSandbox{ID: s.ID, Attempt: s.Attempt, Ready: s.Ready, IPs: s.IPs})
	}
	for i := range seen.Containers {
		c := seenOf(&seen.Containers[i])
		c.Message = Said(r.cfg.Secrets, r.pod, c.Name, c.Message)
		out.Containers = append(out.Containers, c)
	}
	return out
}

// Said is the runtime's message about a container of a pod, without secrets.
func Said(secrets *redact.Vault, pod *v1.Pod, name, message string) string {
	if c := podspec.Container(pod, name); c != nil && criconfig.UsesSecrets(c) {
		return secrets.Said(string(pod.UID), name, message)
	}
	return secrets.Text(string(pod.UID), message)
}

// Withheld reports whether a container that an earlier agent created may print secrets that only that agent knew: a variable keeps
// its value when its Secret changes, a program may keep the content of a file, and each agent creates new keys for certificates.
// The container's output is not quoted until it is created again.
func Withheld(secrets *redact.Vault, pod *v1.Pod, name string) bool {
	c := podspec.Container(pod, name)
	if c == nil || secrets.Knows(string(pod.UID), name) {
		return false
	}
	return criconfig.UsesSecrets(c) || slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool {
		return v.Secret != nil || v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s v1.VolumeProjection) bool {
			return s.Secret != nil || s.PodCertificate != nil
		})
	})
}

func seenOf(c *podstate.Container) seenContainer {
	return seenContainer{
		Name: c.Name, ID: c.ID, State: c.State.String(), Attempt: c.Attempt, StartedAt: c.StartedAt, FinishedAt: c.FinishedAt,
		ExitCode: c.ExitCode, Reason: c.Reason, Message: c.Message,
	}
}
