package podruntime

import (
	"context"
	"encoding/json"
	"path/filepath"

	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// preview returns what a step is about to do, for a stepping user: the exact CRI request, if there is one.
func (r *run) preview(ctx context.Context, s *Step) (title string, request json.Marshaler) {
	switch s.Verb {
	case trace.VerbSandbox:
		req, _, err := r.sandboxRequest(ctx, s.Attempt)
		if err != nil {
			return "runtime.v1.RunPodSandboxRequest", note{"error": r.cfg.Secrets.Text(r.ref.UID, err.Error())}
		}
		return "runtime.v1.RunPodSandboxRequest", r.readable(req)
	case trace.VerbCreate:
		req, err := r.createOnce(ctx, s)
		if err != nil {
			return "runtime.v1.CreateContainerRequest", note{"error": r.cfg.Secrets.Text(r.ref.UID, err.Error())}
		}
		return "runtime.v1.CreateContainerRequest", r.readable(r.shownOf(s, req))
	case trace.VerbStart:
		id := s.Target
		if id == "" {
			id = r.targetOf(s)
		}
		return "runtime.v1.StartContainerRequest", r.readable(&runtimeapi.StartContainerRequest{ContainerId: id})
	case trace.VerbKill:
		return "runtime.v1.StopContainerRequest", r.readable(&runtimeapi.StopContainerRequest{ContainerId: s.Target, Timeout: r.graceLeft(s.Grace, r.began)})
	case trace.VerbResize:
		return "runtime.v1.UpdateContainerResourcesRequest", r.readable(r.updateRequest(s))
	case trace.VerbResizePod:
		return "limits of the pod cgroup", note{"path": r.cfg.Cgroups.PodParent(r.pod), "limits": r.podLimits()}
	case trace.VerbPostStart:
		return "postStart hook", note{"container": r.targetOf(s), "hook": shownHook(podspec.Container(r.pod, s.Container).Lifecycle.PostStart)}
	case trace.VerbPreStop:
		return "preStop hook", note{"container": s.Target, "hook": shownHook(preStop(r.pod, r.seen.Container(s.Target))), "seconds": s.Grace}
	case trace.VerbStopSandbox:
		return "runtime.v1.StopPodSandboxRequest", r.readable(&runtimeapi.StopPodSandboxRequest{PodSandboxId: s.Target})
	case trace.VerbRemove:
		return "runtime.v1.RemoveContainerRequest", r.readable(&runtimeapi.RemoveContainerRequest{ContainerId: s.Target})
	case trace.VerbRemoveSandbox:
		return "runtime.v1.RemovePodSandboxRequest", r.readable(&runtimeapi.RemovePodSandboxRequest{PodSandboxId: s.Target})
	case trace.VerbImage:
		return "runtime.v1.ImageStatusRequest, then PullImage if needed", r.readable(&runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: s.Target}})
	case trace.VerbCgroup, trace.VerbRemoveCgroup:
		return "pod cgroup", note{"path": r.cfg.Cgroups.PodParent(r.pod)}
	case trace.VerbDirs, trace.VerbRemoveDirs:
		return "pod directories", note{"pod": r.podDir(), "logs": r.logDir()}
	case trace.VerbVolumes, trace.VerbUnmount:
		names := make([]string, 0, len(r.pod.Spec.Volumes))
		for i := range r.pod.Spec.Volumes {
			names = append(names, r.pod.Spec.Volumes[i].Name)
		}
		return "volumes", note{"volumes": names, "below": filepath.Join(r.podDir(), "volumes")}
	case trace.VerbClaims, trace.VerbReleaseClaims:
		return "ResourceClaims of the pod", note{"resourceClaims": r.pod.Spec.ResourceClaims, "resourceClaimStatuses": r.pod.Status.ResourceClaimStatuses}
	}
	return string(s.Verb), note{}
}

// readable returns a message for people, without the pod's secrets.
func (r *run) readable(m proto.Message) json.Marshaler {
	return cri.Readable(m, r.cfg.Secrets.For(r.ref.UID))
}

// note is a preview of something that is not a CRI call.
type note map[string]any

// MarshalJSON implements json.Marshaler.
func (n note) MarshalJSON() ([]byte, error) { return json.Marshal(map[string]any(n)) }
