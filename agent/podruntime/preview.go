package podruntime

import (
	"context"
	"encoding/json"
	"path/filepath"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri"
)

// preview is what a step is about to do, for the person who steps: the exact CRI
// request where there is one.
func (r *run) preview(ctx context.Context, s *Step) (title string, request json.Marshaler) {
	switch s.Verb {
	case VerbSandbox:
		req, _, err := r.sandboxRequest(ctx, s.Attempt)
		if err != nil {
			return "runtime.v1.RunPodSandboxRequest", note{"error": err.Error()}
		}
		return "runtime.v1.RunPodSandboxRequest", cri.Readable(req)
	case VerbCreate:
		req, err := r.createOnce(ctx, s)
		if err != nil {
			return "runtime.v1.CreateContainerRequest", note{"error": err.Error()}
		}
		return "runtime.v1.CreateContainerRequest", cri.Readable(req)
	case VerbStart:
		id := s.Target
		if id == "" {
			id = r.targetOf(s)
		}
		return "runtime.v1.StartContainerRequest", cri.Readable(&runtimeapi.StartContainerRequest{ContainerId: id})
	case VerbKill:
		return "runtime.v1.StopContainerRequest", cri.Readable(&runtimeapi.StopContainerRequest{ContainerId: s.Target, Timeout: r.graceLeft(s.Grace, r.began)})
	case VerbResize:
		return "runtime.v1.UpdateContainerResourcesRequest", cri.Readable(r.updateRequest(s))
	case VerbResizePod:
		return "limits of the pod cgroup", note{"path": r.cfg.Cgroups.PodParent(r.pod), "limits": r.podLimits()}
	case VerbPostStart:
		return "postStart hook", note{"container": r.targetOf(s), "hook": container(r.pod, s.Container).Lifecycle.PostStart}
	case VerbPreStop:
		return "preStop hook", note{"container": s.Target, "hook": preStop(r.pod, r.seen.Container(s.Target)), "seconds": s.Grace}
	case VerbStopSandbox:
		return "runtime.v1.StopPodSandboxRequest", cri.Readable(&runtimeapi.StopPodSandboxRequest{PodSandboxId: s.Target})
	case VerbRemove:
		return "runtime.v1.RemoveContainerRequest", cri.Readable(&runtimeapi.RemoveContainerRequest{ContainerId: s.Target})
	case VerbRemoveSandbox:
		return "runtime.v1.RemovePodSandboxRequest", cri.Readable(&runtimeapi.RemovePodSandboxRequest{PodSandboxId: s.Target})
	case VerbImage:
		return "runtime.v1.ImageStatusRequest, then PullImage if needed", cri.Readable(&runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: s.Target}})
	case VerbCgroup, VerbRemoveCgroup:
		return "pod cgroup", note{"path": r.cfg.Cgroups.PodParent(r.pod)}
	case VerbDirs, VerbRemoveDirs:
		return "pod directories", note{"pod": r.podDir(), "logs": r.logDir()}
	case VerbVolumes, VerbUnmount:
		names := make([]string, 0, len(r.pod.Spec.Volumes))
		for i := range r.pod.Spec.Volumes {
			names = append(names, r.pod.Spec.Volumes[i].Name)
		}
		return "volumes", note{"volumes": names, "below": filepath.Join(r.podDir(), "volumes")}
	}
	return string(s.Verb), note{}
}

// note is a preview of something that is not a CRI call.
type note map[string]any

// MarshalJSON implements json.Marshaler.
func (n note) MarshalJSON() ([]byte, error) { return json.Marshal(map[string]any(n)) }
