package podstatus

import (
	"cmp"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/agent/qos"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Reason is a reason: a CamelCase word that tools match, and a sentence.
type Reason struct{ Reason, Message string }

// Inputs are the inputs of a status, in addition to the pod and the runtime's report.
type Inputs struct {
	// Now is the time of changes. Statuses have a resolution of one second.
	Now time.Time
	// Previous is the last generated status; nil means the status of the pod from its source.
	Previous *v1.PodStatus
	// Runtime is the prefix of container IDs before ://, for example containerd.
	Runtime string
	// HostIPs are the node's, the primary one first.
	HostIPs []string
	// Family is the family of a pod's IPs that is first.
	Family podstate.Family
	// Reasons say, by container name, why a container that should run does not: CrashLoopBackOff,
	// ErrImagePull, ...
	Reasons map[string]Reason
	// Started and Ready return the states of a running container with that ID, according to its probes. Nil means true.
	Started, Ready func(c *v1.Container, id string) bool
	// LastWords returns a container's termination message; if nil, the runtime's message is used.
	LastWords func(c *podstate.Container) string
	// Terminal says that nothing of the pod will run again: its worker has terminated it.
	Terminal bool
	// Failed makes the pod Failed regardless of its containers, for example after an eviction.
	Failed *Reason
	// Disruption, if set, says that the node's state makes the pod fail, not the pod: it is the message of the condition DisruptionTarget.
	Disruption string
	// Actuated are the resources that were last set for a container, or for the pod's cgroup (""); nil if unknown. The runtime does not report
	// all of them.
	Actuated func(container string) (v1.ResourceRequirements, bool)
	// Resize are the conditions of a resize that is pending or in progress.
	Resize []v1.PodCondition
	// Devices returns the health of a container's devices; may be nil.
	Devices func(container string) []v1.ResourceStatus
	// RecursiveReadOnly says whether the runtime supports recursive read-only mounts.
	RecursiveReadOnly bool
	// Claims says whether the resources count that the pod has by ResourceClaims.
	Claims qos.Claims
	// StopSignals says that containers have the signal that the runtime reports (feature gate ContainerStopSignals).
	StopSignals bool
	// ImageDigests says that the mounts of image volumes have the images' IDs (feature gate ImageVolumeWithDigest).
	ImageDigests bool
}

// Generate returns the pod's status. Seen may be nil if the runtime does not have the pod. Neither pod nor in is
// changed; parts of Previous may be shared with the result.
//
// Upstream: pkg/kubelet/kubelet_pods.go, generateAPIPodStatus, then pkg/kubelet/status/status_manager.go,
// updateStatusInternal and normalizeStatus.
func Generate(pod *v1.Pod, seen *podstate.Pod, in Inputs) v1.PodStatus {
	previous := in.Previous
	if previous == nil {
		previous = &pod.Status
	}
	g := generator{pod: pod, seen: seen, in: in, previous: previous}
	g.restarting = g.allRestart()
	s := v1.PodStatus{
		ObservedGeneration: pod.Generation,
		QOSClass:           qos.Class(pod),
		StartTime:          previous.StartTime,
		NominatedNodeName:  pod.Status.NominatedNodeName,
	}
	if s.StartTime.IsZero() {
		s.StartTime = new(stamp(g.began()))
	}
	s.InitContainerStatuses = g.containers(pod.Spec.InitContainers, previous.InitContainerStatuses, kindInit)
	s.ContainerStatuses = g.containers(pod.Spec.Containers, previous.ContainerStatuses, kindApp)
	s.EphemeralContainerStatuses = g.containers(ephemeral(pod), previous.EphemeralContainerStatuses, kindEphemeral)
	g.devices(s.ContainerStatuses)
	g.ips(&s)
	g.settlePhase(&s)
	g.podResources(&s)
	s.Conditions = g.conditions(&s)
	return s
}

// devices adds the health of devices to the statuses of app containers.
//
// Upstream: pkg/kubelet/cm/devicemanager/manager.go, UpdateAllocatedResourcesStatus.
func (g *generator) devices(statuses []v1.ContainerStatus) {
	if g.in.Devices == nil {
		return
	}
	for i := range statuses {
		statuses[i].AllocatedResourcesStatus = g.in.Devices(statuses[i].Name)
	}
}

// Rejected returns the status of a pod that was never admitted. Upstream: pkg/kubelet/kubelet.go, rejectPod.
func Rejected(pod *v1.Pod, why Reason, now time.Time) v1.PodStatus {
	return v1.PodStatus{
		ObservedGeneration: pod.Generation,
		QOSClass:           qos.Class(pod),
		Phase:              v1.PodFailed,
		Reason:             why.Reason,
		Message:            "Pod was rejected: " + why.Message,
		StartTime:          new(stamp(now)),
	}
}

// generator is one call of Generate.
type generator struct {
	pod      *v1.Pod
	seen     *podstate.Pod
	in       Inputs
	previous *v1.PodStatus
	// restarting says that all containers restart.
	restarting bool
}

// settlePhase sets the phase and its reason.
func (g *generator) settlePhase(s *v1.PodStatus) {
	s.Phase = phase(g.pod, s, g.in.Terminal, g.initialized())
	for _, before := range []v1.PodPhase{g.pod.Status.Phase, g.previous.Phase} {
		if terminal(before) && !terminal(s.Phase) {
			s.Phase = before
		}
	}
	if s.Phase == g.previous.Phase {
		s.Reason = cmp.Or(g.previous.Reason, g.pod.Status.Reason)
		s.Message = cmp.Or(g.previous.Message, g.pod.Status.Message)
	}
	if g.in.Failed != nil {
		s.Phase, s.Reason, s.Message = v1.PodFailed, g.in.Failed.Reason, g.in.Failed.Message
	}
	// The API server does not let a pod leave a terminal phase; its reason stays with it. Its containers may say something else: those of a
	// pod that a shutdown of the node ended may have exited with 0.
	if api := &g.pod.Status; terminal(api.Phase) && s.Phase != api.Phase {
		s.Phase, s.Reason, s.Message = api.Phase, api.Reason, api.Message
	}
}

// began returns when a pod without a start time started: now, or when an earlier agent created its sandbox that is ready. The agent reads the start
// time of a static pod from no API object. A sandbox that is not ready may be of an earlier static pod with the same UID.
func (g *generator) began() time.Time {
	began := g.in.Now
	if g.seen != nil {
		for _, s := range g.seen.Sandboxes {
			if s.Ready && !s.CreatedAt.IsZero() && s.CreatedAt.Before(began) {
				began = s.CreatedAt
			}
		}
	}
	return began
}

func terminal(p v1.PodPhase) bool { return trace.PodPhase(p).Terminal() }

// stamp returns a time with the API's resolution of one second.
func stamp(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }
