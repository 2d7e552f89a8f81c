package podstatus

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// Reasons that only statuses have. Upstream: pkg/kubelet/kubelet_pods.go, pkg/kubelet/container/helpers.go.
const (
	ContainerCreating      = "ContainerCreating"
	PodInitializing        = "PodInitializing"
	Completed              = "Completed"
	Error                  = "Error"
	ContainerStatusUnknown = "ContainerStatusUnknown"
)

// maxMessages limits the total length of the termination messages of a pod's containers, in bytes. Upstream:
// pkg/kubelet/container/runtime.go, MaxPodTerminationMessageLogLength.
const maxMessages = 12 << 10

// lost is the exit code of a container whose exit was not observed.
const lost = 137

// kind is the pod's list that a container is in.
type kind uint8

const (
	kindApp kind = iota
	kindInit
	kindEphemeral
)

func ephemeral(pod *v1.Pod) []v1.Container {
	var out []v1.Container
	for i := range pod.Spec.EphemeralContainers {
		out = append(out, v1.Container(pod.Spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
	return out
}

// containers returns the statuses of the listed containers: app containers by name, init containers
// in their order.
// Upstream: pkg/kubelet/kubelet_pods.go, convertToAPIContainerStatuses.
func (g *generator) containers(specs []v1.Container, previous []v1.ContainerStatus, kind kind) []v1.ContainerStatus {
	statuses := make([]v1.ContainerStatus, 0, len(specs))
	for i := range specs {
		c := &specs[i]
		old := find(previous, c.Name)
		s := g.container(c, old)
		g.explain(c, kind, &s)
		g.judge(c, kind, &s)
		statuses = append(statuses, s)
	}
	if kind != kindInit {
		sorting.Stable(statuses, func(a, b *v1.ContainerStatus) int { return cmp.Compare(a.Name, b.Name) })
	}
	if len(statuses) == 0 {
		return nil
	}
	return statuses
}

func find(statuses []v1.ContainerStatus, name string) *v1.ContainerStatus {
	i := slices.IndexFunc(statuses, func(s v1.ContainerStatus) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &statuses[i]
}

// container returns the known states of a container: current and last.
func (g *generator) container(c *v1.Container, old *v1.ContainerStatus) v1.ContainerStatus {
	newest, before := g.lastTwo(c.Name)
	if newest == nil {
		return g.unseen(c, old)
	}
	s := g.convert(c, newest, old)
	g.settleRestarts(&s, old)
	g.resources(c, newest, &s, old)
	s.User = user(newest.User)
	if g.in.ImageDigests {
		g.imageDigests(newest, s.VolumeMounts)
	}
	if g.in.StopSignals && newest.StopSignal != "" {
		s.StopSignal = new(v1.Signal(newest.StopSignal))
	}
	if before != nil {
		s.LastTerminationState = g.convert(c, before, old).State
	} else if old != nil && old.ContainerID != s.ContainerID && old.State.Terminated != nil {
		// The earlier container was removed since; its known state is kept.
		s.LastTerminationState.Terminated = old.State.Terminated
	} else if old != nil {
		s.LastTerminationState = old.LastTerminationState
	}
	return s
}

// lastTwo returns the newest two containers of that name.
func (g *generator) lastTwo(name string) (newest, before *podstate.Container) {
	if g.seen == nil {
		return nil, nil
	}
	for i := range g.seen.Containers {
		c := &g.seen.Containers[i]
		switch {
		case c.Name != name:
		case newest == nil:
			newest = c
		default:
			return newest, c
		}
	}
	return newest, nil
}

// unseen returns the status of a container that the runtime does not have: not created yet, or removed.
func (g *generator) unseen(c *v1.Container, old *v1.ContainerStatus) v1.ContainerStatus {
	s := v1.ContainerStatus{Name: c.Name, Image: c.Image, VolumeMounts: g.mounts(c), State: v1.ContainerState{Waiting: g.creating()}}
	if old == nil {
		return s
	}
	if g.restarting && old.State.Waiting == nil {
		if old.State.Terminated != nil {
			s = *old
		}
		return removed(s, old)
	}
	if old.State.Terminated != nil {
		return *old
	}
	s.RestartCount, s.LastTerminationState = old.RestartCount, old.LastTerminationState
	if old.State.Running != nil && s.LastTerminationState.Terminated == nil {
		// It ran and was removed. Because it ran, the pod does not become Pending again.
		s.LastTerminationState.Terminated = &v1.ContainerStateTerminated{
			Reason:   ContainerStatusUnknown,
			Message:  "The container could not be located when the pod was deleted.  The container used to be Running",
			ExitCode: lost,
		}
		if g.pod.DeletionTimestamp == nil {
			s.RestartCount++
		}
	}
	return s
}

// convert returns the status of one of the runtime's containers.
func (g *generator) convert(spec *v1.Container, c *podstate.Container, old *v1.ContainerStatus) v1.ContainerStatus {
	id := g.in.Runtime + "://" + c.ID
	s := v1.ContainerStatus{
		Name:         c.Name,
		Image:        cmp.Or(c.Image, spec.Image),
		ImageID:      c.ImageID,
		ContainerID:  id,
		VolumeMounts: keptMounts(g.mounts(spec), id, old),
		RestartCount: int32(c.Attempt), // attempts count up from 0
	}
	switch c.State {
	case podstate.Running:
		s.State.Running = &v1.ContainerStateRunning{StartedAt: stamp(c.StartedAt)}
	case podstate.Exited:
		s.State.Terminated = &v1.ContainerStateTerminated{
			ExitCode:    c.ExitCode,
			Reason:      cmp.Or(c.Reason, reasonOf(c.ExitCode)),
			Message:     g.message(c),
			StartedAt:   moment(c.StartedAt),
			FinishedAt:  moment(c.FinishedAt),
			ContainerID: id,
		}
	case podstate.Unknown:
		if old != nil && old.State.Running != nil {
			s.RestartCount = old.RestartCount + 1
			s.State.Terminated = &v1.ContainerStateTerminated{
				Reason:   ContainerStatusUnknown,
				Message:  "The container could not be located when the pod was terminated",
				ExitCode: lost,
			}
			if g.restarting {
				s.State.Terminated.Reason = RestartingAllContainers
			}
			break
		}
		s.State.Waiting = g.creating()
	case podstate.Created:
		// Upstream gives no reason here. Kubernetes' conformance tests expect one at any time.
		s.State.Waiting = g.creating()
	}
	return s
}

// moment returns a time of a container that has ended. One that could not be started never began: that is the begin of 1970, as the runtime
// reports it.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, toKubeContainerStatus.
func moment(t time.Time) metav1.Time {
	if t.IsZero() {
		t = time.Unix(0, 0)
	}
	return stamp(t)
}

// creating is the state of a container that is not started yet.
func (g *generator) creating() *v1.ContainerStateWaiting {
	if len(g.pod.Spec.InitContainers) > 0 {
		return &v1.ContainerStateWaiting{Reason: PodInitializing}
	}
	return &v1.ContainerStateWaiting{Reason: ContainerCreating}
}

func reasonOf(exitCode int32) string {
	if exitCode == 0 {
		return Completed
	}
	return Error
}

// message cuts a termination message to the container's share.
func (g *generator) message(c *podstate.Container) string {
	text := c.Message
	if g.in.LastWords != nil {
		text = g.in.LastWords(c)
	}
	spec := &g.pod.Spec
	share := maxMessages / max(1, len(spec.Containers)+len(spec.InitContainers)+len(spec.EphemeralContainers))
	if len(text) <= share {
		return text
	}
	for share > 0 && !utf8.RuneStart(text[share]) { // do not split a character
		share--
	}
	return text[:share]
}

// explain makes a container that should run and does not Waiting, if the reason is known. It infers that an init
// container that was removed has exited from what runs after it.
func (g *generator) explain(c *v1.Container, kind kind, s *v1.ContainerStatus) {
	newest := g.seen.Newest(c.Name)
	if kind == kindInit {
		if newest != nil && newest.State == podstate.Exited && newest.ExitCode == 0 {
			return
		}
		if newest == nil && !podspec.RestartableInit(c) && s.State.Waiting != nil && g.created() {
			s.State = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
				Reason:  Completed,
				Message: "Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally",
			}}
			return
		}
	}
	reason, known := g.in.Reasons[c.Name]
	if !known || !g.shouldStart(c, newest) {
		return
	}
	if s.State.Terminated != nil {
		s.LastTerminationState = s.State
	}
	s.State = v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason.Reason, Message: reason.Message}}
}

// shouldStart reports whether the container must be started next. Upstream: pkg/kubelet/container/helpers.go,
// ShouldContainerBeRestarted.
func (g *generator) shouldStart(c *v1.Container, newest *podstate.Container) bool {
	switch {
	case g.pod.DeletionTimestamp != nil:
		return false
	case newest == nil:
		return true
	case newest.State == podstate.Running:
		return false
	case newest.State == podstate.Exited:
		return podspec.ShouldRestart(&g.pod.Spec, c, newest.ExitCode)
	}
	return true
}

// judge sets started and ready.
// Upstream: pkg/kubelet/prober/prober_manager.go, UpdatePodStatus.
func (g *generator) judge(c *v1.Container, kind kind, s *v1.ContainerStatus) {
	if kind == kindEphemeral {
		return // they have no probes
	}
	_, id, _ := strings.Cut(s.ContainerID, "://")
	started := s.State.Running != nil && (g.in.Started == nil || g.in.Started(c, id))
	s.Started = &started
	if kind == kindInit && !podspec.RestartableInit(c) {
		s.Ready = s.State.Terminated != nil && s.State.Terminated.ExitCode == 0
		return
	}
	s.Ready = started && (g.in.Ready == nil || g.in.Ready(c, id))
}

// created reports whether the runtime has any app container: then init containers are done. Upstream:
// pkg/kubelet/kuberuntime/kuberuntime_container.go, HasAnyRegularContainerCreated.
func (g *generator) created() bool {
	return slices.ContainsFunc(g.pod.Spec.Containers, func(c v1.Container) bool {
		newest := g.seen.Newest(c.Name)
		return newest != nil && newest.State != podstate.Unknown
	})
}

// initialized reports whether any app container is in the current sandbox. Upstream: pkg/kubelet/container/helpers.go,
// HasAnyActiveRegularContainerStarted.
func (g *generator) initialized() bool {
	sandbox := g.seen.Sandbox()
	if sandbox == nil || !sandbox.Ready {
		return false
	}
	return slices.ContainsFunc(g.seen.Containers, func(c podstate.Container) bool {
		return c.SandboxID == sandbox.ID &&
			slices.ContainsFunc(g.pod.Spec.Containers, func(spec v1.Container) bool { return spec.Name == c.Name })
	})
}
