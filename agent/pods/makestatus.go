package pods

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podruntime"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/agent/podstatus"
	"github.com/kubeloupe/kubeloupe/agent/qos"
	"github.com/kubeloupe/kubeloupe/agent/redact"
	"github.com/kubeloupe/kubeloupe/agent/worker"
	"github.com/kubeloupe/kubeloupe/trace"
)

// StatusConfig is the input of statuses, in addition to StatusInput. All fields but Secrets and Devices are required.
type StatusConfig struct {
	// Seen is the state of the runtime.
	Seen interface {
		Get(uid types.UID) *podstate.Pod
	}
	// Resizes has the allocated resources of pods.
	Resizes interface {
		Pod(pod *v1.Pod) *v1.Pod
		Conditions(uid types.UID) []v1.PodCondition
		Actuated(uid types.UID, container string) (v1.ResourceRequirements, bool)
	}
	// Probes has the results of the probes.
	Probes interface {
		Started(pod *v1.Pod, c *v1.Container, id string) bool
		Ready(pod *v1.Pod, c *v1.Container, id string) bool
	}
	// Workers has the states of the pods' workers.
	Workers interface {
		State(uid types.UID) worker.State
	}
	// Devices has the health of devices; may be nil: then statuses do not show it.
	Devices interface {
		Status(pod *v1.Pod, container string) []v1.ResourceStatus
	}
	// Runtime is the runtime's name, such as containerd.
	Runtime string
	// HostIPs returns the node's addresses, primary first. It must not block. May be nil: then they are unknown.
	HostIPs func() []string
	// Family is the family of a pod's IPs that is first.
	Family podstate.Family
	// RecursiveReadOnly reports whether the pod's runtime handler supports recursive read-only mounts. It must not block. May be nil: then it does not.
	RecursiveReadOnly func(pod *v1.Pod) bool
	// Claims says whether the resources count that pods have by ResourceClaims.
	Claims qos.Claims
	// StopSignals says that statuses show stop signals (feature gate ContainerStopSignals).
	StopSignals bool
	// ImageDigests says that statuses show the IDs of the images of volumes (feature gate ImageVolumeWithDigest).
	ImageDigests bool
	// Secrets knows the secrets of each pod; may be nil.
	Secrets *redact.Vault
}

// NewStatus returns a StatusFunc that computes statuses from the current state of the runtime.
func NewStatus(c StatusConfig) StatusFunc {
	return func(in StatusInput) (v1.PodStatus, trace.PodStatus) {
		pod := c.Resizes.Pod(in.Pod)
		seen := c.Seen.Get(pod.UID)
		if seen != nil && seen.Unseen && in.Previous.Phase != "" && in.Failed == nil {
			return in.Previous, podstatus.Trace(pod, in.Previous, seen) // an outline has less information
		}
		var ips []string
		if c.HostIPs != nil {
			ips = c.HostIPs()
		}
		why := make(map[string]podstatus.Reason, len(in.Reasons))
		for name, r := range in.Reasons {
			why[name] = podstatus.Reason(r)
		}
		inputs := podstatus.Inputs{
			Now: time.Now(), Previous: &in.Previous, Failed: in.Failed, Disruption: in.Disruption, Runtime: c.Runtime, HostIPs: ips, Family: c.Family, Reasons: why, LastWords: c.lastWords(in),
			Resize: c.Resizes.Conditions(pod.UID), RecursiveReadOnly: c.RecursiveReadOnly != nil && c.RecursiveReadOnly(pod), Claims: c.Claims, StopSignals: c.StopSignals, ImageDigests: c.ImageDigests,
			Actuated: func(name string) (v1.ResourceRequirements, bool) { return c.Resizes.Actuated(pod.UID, name) },
			Terminal: c.Workers.State(pod.UID) == worker.Terminated,
			Started:  func(ct *v1.Container, id string) bool { return c.Probes.Started(pod, ct, id) },
			Ready:    func(ct *v1.Container, id string) bool { return c.Probes.Ready(pod, ct, id) },
		}
		if c.Devices != nil {
			inputs.Devices = func(container string) []v1.ResourceStatus { return c.Devices.Status(in.Pod, container) }
		}
		st := podstatus.Generate(pod, seen, inputs)
		return st, podstatus.Trace(pod, st, seen)
	}
}

// lastWords returns termination messages. The runtime's messages may quote arguments; the container's are its own.
func (c *StatusConfig) lastWords(in StatusInput) func(*podstate.Container) string {
	return func(seen *podstate.Container) string {
		own := *seen
		own.Message = podruntime.Said(c.Secrets, in.Pod, seen.Name, seen.Message)
		if in.LastWords == nil {
			return own.Message
		}
		return in.LastWords(&own)
	}
}
