package podstatus

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
)

// Reasons of conditions. Upstream: pkg/kubelet/status/generate.go, pkg/kubelet/types/constants.go.
const (
	reasonPodCompleted     = "PodCompleted"
	reasonPodFailed        = "PodFailed"
	reasonNotReady         = "ContainersNotReady"
	reasonNotInitialized   = "ContainersNotInitialized"
	reasonReadinessGates   = "ReadinessGatesNotReady"
	reasonSandboxNotReady  = "PodSandboxNotReady"
	messageNoSandbox       = "no pod sandbox exists"
	messageManySandboxes   = "multiple pod sandboxes are ready and need to be reconciled"
	messageSandboxNotReady = "pod sandbox is not ready"
	messageSandboxNetwork  = "network namespace mode changed and sandbox needs to be recreated"
	messageSandboxHasNoIP  = "pod sandbox has no IP address"
	formatUnready          = "containers with unready status: %v"
	formatIncomplete       = "containers with incomplete status: %v"
	formatGateMissing      = "corresponding condition of pod readiness gate %q does not exist."
	formatGateNotTrue      = "the status of pod readiness gate %q is not \"True\", but %v"
)

// verdict is a condition without its type and times; no reason means true.
type verdict struct {
	status          v1.ConditionStatus
	reason, message string
}

func no(reason, message string) verdict { return verdict{v1.ConditionFalse, reason, message} }

// conditions returns the conditions of others unchanged, and then the agent's own.
func (g *generator) conditions(s *v1.PodStatus) []v1.PodCondition {
	var list []v1.PodCondition
	for _, c := range g.pod.Status.Conditions {
		if !owned(c.Type) {
			list = append(list, c)
		}
	}
	if !g.in.Terminal {
		list = append(list, g.in.Resize...)
	}
	list = g.disrupted(list)
	containersReady := g.containersReady(s)
	add := func(kind v1.PodConditionType, v verdict) { list = append(list, g.condition(kind, v)) }
	add(v1.PodReadyToStartContainers, g.readyToStart())
	add(v1.PodInitialized, g.podInitialized(s))
	add(v1.PodReady, g.podReady(containersReady, list)) // readiness gates can be the conditions before it
	add(v1.ContainersReady, containersReady)
	add(v1.PodScheduled, verdict{status: v1.ConditionTrue})
	if podspec.CouldRestartAll(&g.pod.Spec) {
		list = append(list, g.condition(v1.AllContainersRestarting, g.allRestarting(s)))
	}
	return list
}

// disrupted replaces or adds the agent's own condition DisruptionTarget, if there is one: it is set once when the pod is evicted or preempted,
// and never changed again. Others set theirs, for example the eviction API.
func (g *generator) disrupted(list []v1.PodCondition) []v1.PodCondition {
	var own v1.PodCondition
	switch c := findCondition(g.previous.Conditions, v1.DisruptionTarget); {
	case c != nil && c.Reason == v1.PodReasonTerminationByKubelet:
		own = *c
	case g.in.Disruption != "" && g.in.Failed != nil:
		own = g.condition(v1.DisruptionTarget, verdict{v1.ConditionTrue, v1.PodReasonTerminationByKubelet, g.in.Disruption})
	default:
		return list
	}
	if c := findCondition(list, v1.DisruptionTarget); c != nil {
		*c = own
		return list
	}
	return append(list, own)
}

// owned reports whether only the agent sets conditions of that type.
func owned(kind v1.PodConditionType) bool {
	return slices.Contains([]v1.PodConditionType{
		v1.PodReadyToStartContainers, v1.PodInitialized, v1.PodReady, v1.ContainersReady, v1.PodScheduled,
		v1.AllContainersRestarting, v1.PodResizePending, v1.PodResizeInProgress,
	}, kind)
}

// condition keeps the time of the last transition if the status is unchanged.
func (g *generator) condition(kind v1.PodConditionType, v verdict) v1.PodCondition {
	c := v1.PodCondition{
		Type:               kind,
		ObservedGeneration: g.pod.Generation,
		Status:             v.status,
		Reason:             v.reason,
		Message:            v.message,
		LastTransitionTime: stamp(g.in.Now),
	}
	if old := findCondition(g.previous.Conditions, kind); old != nil && old.Status == c.Status && !old.LastTransitionTime.IsZero() {
		c.LastTransitionTime = old.LastTransitionTime
	}
	return c
}

func findCondition(list []v1.PodCondition, kind v1.PodConditionType) *v1.PodCondition {
	for i := range list {
		if list[i].Type == kind {
			return &list[i]
		}
	}
	return nil
}

// readyToStart is the verdict about the sandbox and its network. Upstream: pkg/kubelet/kuberuntime/util/util.go,
// PodSandboxChanged.
func (g *generator) readyToStart() verdict {
	sandbox := g.seen.Sandbox()
	if sandbox == nil {
		return no(reasonSandboxNotReady, messageNoSandbox)
	}
	ready := 0
	for _, s := range g.seen.Sandboxes {
		if s.Ready {
			ready++
		}
	}
	switch {
	case ready > 1:
		return no(reasonSandboxNotReady, messageManySandboxes)
	case !sandbox.Ready:
		return no(reasonSandboxNotReady, messageSandboxNotReady)
	case sandbox.HostNetwork != g.pod.Spec.HostNetwork:
		return no(reasonSandboxNotReady, messageSandboxNetwork)
	case !sandbox.HostNetwork && len(sandbox.IPs) == 0:
		return no(reasonSandboxNotReady, messageSandboxHasNoIP)
	}
	return verdict{status: v1.ConditionTrue}
}

// podInitialized is the verdict about the init containers; once an app container has run, they are done. Upstream:
// pkg/kubelet/status/generate.go, GeneratePodInitializedCondition.
func (g *generator) podInitialized(s *v1.PodStatus) verdict {
	if s.Phase == v1.PodSucceeded {
		return verdict{status: v1.ConditionTrue, reason: reasonPodCompleted}
	}
	for _, c := range s.ContainerStatuses {
		if c.State.Running != nil || c.State.Terminated != nil {
			return verdict{status: v1.ConditionTrue}
		}
	}
	var incomplete []string
	for i := range g.pod.Spec.InitContainers {
		c := &g.pod.Spec.InitContainers[i]
		status := find(s.InitContainerStatuses, c.Name)
		done := status.Ready
		if podspec.RestartableInit(c) {
			done = status.Started != nil && *status.Started
		}
		if !done {
			incomplete = append(incomplete, c.Name)
		}
	}
	if len(incomplete) > 0 {
		// Once true, it stays true, even if all containers are created again.
		if old := findCondition(g.previous.Conditions, v1.PodInitialized); old != nil && old.Status == v1.ConditionTrue {
			return verdict{status: v1.ConditionTrue}
		}
		return no(reasonNotInitialized, fmt.Sprintf(formatIncomplete, incomplete))
	}
	return verdict{status: v1.ConditionTrue}
}

// containersReady is the verdict about app containers and sidecars. Upstream: pkg/kubelet/status/generate.go,
// GenerateContainersReadyCondition.
func (g *generator) containersReady(s *v1.PodStatus) verdict {
	switch s.Phase {
	case v1.PodSucceeded:
		return no(reasonPodCompleted, "")
	case v1.PodFailed:
		return no(reasonPodFailed, "")
	case v1.PodPending, v1.PodRunning, v1.PodUnknown:
	}
	var unready []string
	for i := range g.pod.Spec.InitContainers {
		c := &g.pod.Spec.InitContainers[i]
		if podspec.RestartableInit(c) && !find(s.InitContainerStatuses, c.Name).Ready {
			unready = append(unready, c.Name)
		}
	}
	for _, c := range g.pod.Spec.Containers {
		if !find(s.ContainerStatuses, c.Name).Ready {
			unready = append(unready, c.Name)
		}
	}
	if len(unready) > 0 {
		return no(reasonNotReady, fmt.Sprintf(formatUnready, unready))
	}
	return verdict{status: v1.ConditionTrue}
}

// podReady adds the readiness gates.
// Upstream: pkg/kubelet/status/generate.go, GeneratePodReadyCondition.
func (g *generator) podReady(containers verdict, others []v1.PodCondition) verdict {
	if containers.status != v1.ConditionTrue {
		return containers
	}
	var messages []string
	for _, gate := range g.pod.Spec.ReadinessGates {
		switch c := findCondition(others, gate.ConditionType); {
		case c == nil:
			messages = append(messages, fmt.Sprintf(formatGateMissing, string(gate.ConditionType)))
		case c.Status != v1.ConditionTrue:
			messages = append(messages, fmt.Sprintf(formatGateNotTrue, string(gate.ConditionType), c.Status))
		}
	}
	if len(messages) > 0 {
		return no(reasonReadinessGates, strings.Join(messages, ", "))
	}
	return containers
}
