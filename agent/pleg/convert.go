package pleg

import (
	"cmp"
	"path"
	"strings"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

func sandboxOf(s *runtimeapi.PodSandboxStatus) podstate.Sandbox {
	out := podstate.Sandbox{
		ID:          s.GetId(),
		Attempt:     s.GetMetadata().GetAttempt(),
		Ready:       s.GetState() == runtimeapi.PodSandboxState_SANDBOX_READY,
		CreatedAt:   at(s.GetCreatedAt()),
		HostNetwork: s.GetLinux().GetNamespaces().GetOptions().GetNetwork() == runtimeapi.NamespaceMode_NODE,
		Runtime:     s.GetRuntimeHandler(),
	}
	if ip := s.GetNetwork().GetIp(); ip != "" {
		out.IPs = append(out.IPs, ip)
	}
	for _, ip := range s.GetNetwork().GetAdditionalIps() {
		out.IPs = append(out.IPs, ip.GetIp())
	}
	return out
}

func containerOf(s *runtimeapi.ContainerStatus, sandboxID string) podstate.Container {
	meta := criconfig.ParseContainer(s.GetLabels(), s.GetAnnotations())
	out := podstate.Container{
		ID:                       s.GetId(),
		Name:                     s.GetMetadata().GetName(),
		SandboxID:                sandboxID,
		State:                    stateOf(s.GetState()),
		Attempt:                  s.GetMetadata().GetAttempt(),
		CreatedAt:                at(s.GetCreatedAt()),
		StartedAt:                at(s.GetStartedAt()),
		FinishedAt:               at(s.GetFinishedAt()),
		ExitCode:                 s.GetExitCode(),
		Reason:                   s.GetReason(),
		Message:                  s.GetMessage(),
		Image:                    s.GetImage().GetImage(),
		ImageID:                  s.GetImageRef(),
		Hash:                     meta.Hash,
		HasHash:                  meta.Hash != 0,
		LogPath:                  s.GetLogPath(),
		TerminationMessagePath:   meta.TerminationMessagePath,
		TerminationMessagePolicy: string(meta.TerminationMessagePolicy),
		PreStop:                  meta.PreStop,
		User:                     userOf(s.GetUser().GetLinux()),
		Resources:                resourcesOf(s.GetResources().GetLinux()),
	}
	if sig := s.GetStopSignal(); sig != runtimeapi.Signal_SIGNAL_RUNTIME_DEFAULT && runtimeapi.Signal_name[int32(sig)] != "" {
		out.StopSignal = strings.NewReplacer("SIGNAL_", "", "PLUS", "+", "MINUS", "-").Replace(sig.String())
	}
	for _, m := range s.GetMounts() {
		if image := m.GetImage().GetImage(); image != "" {
			if out.ImageMounts == nil {
				out.ImageMounts = map[string]string{}
			}
			out.ImageMounts[m.GetContainerPath()] = image
		}
		if meta.TerminationMessagePath != "" && path.Clean(m.GetContainerPath()) == criconfig.TerminationMount(meta.TerminationMessagePath) {
			out.TerminationLog = m.GetHostPath()
		}
	}
	return out
}

func userOf(u *runtimeapi.LinuxContainerUser) *podstate.User {
	if u == nil {
		return nil
	}
	return &podstate.User{UID: u.GetUid(), GID: u.GetGid(), SupplementalGroups: u.GetSupplementalGroups()}
}

func resourcesOf(r *runtimeapi.LinuxContainerResources) *podstate.Resources {
	if r == nil {
		return nil
	}
	return &podstate.Resources{CPUShares: r.GetCpuShares(), CPUQuota: r.GetCpuQuota(), CPUPeriod: r.GetCpuPeriod(), Memory: r.GetMemoryLimitInBytes()}
}

func stateOf(s runtimeapi.ContainerState) podstate.State {
	switch s {
	case runtimeapi.ContainerState_CONTAINER_CREATED:
		return podstate.Created
	case runtimeapi.ContainerState_CONTAINER_RUNNING:
		return podstate.Running
	case runtimeapi.ContainerState_CONTAINER_EXITED:
		return podstate.Exited
	case runtimeapi.ContainerState_CONTAINER_UNKNOWN:
	}
	return podstate.Unknown
}

// at converts CRI nanoseconds; 0 becomes the zero time.
func at(ns int64) time.Time {
	if ns <= 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

// newestFirst sorts by attempt, then by creation time, so that the newest one of a name is first even if the clock was
// set back.
func newestFirst(p *podstate.Pod) {
	sorting.Stable(p.Sandboxes, func(a, b *podstate.Sandbox) int {
		return cmp.Or(cmp.Compare(b.Attempt, a.Attempt), b.CreatedAt.Compare(a.CreatedAt))
	})
	sorting.Stable(p.Containers, func(a, b *podstate.Container) int {
		return cmp.Or(cmp.Compare(b.Attempt, a.Attempt), b.CreatedAt.Compare(a.CreatedAt))
	})
}
