package snapshot

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// podUID is the label with the pod's UID on a kubelet's sandboxes and containers.
const podUID = "io.kubernetes.pod.uid"

// CRI is the part of the runtime service that snapshots need.
type CRI interface {
	ListPodSandbox(context.Context, *runtimeapi.ListPodSandboxRequest, ...grpc.CallOption) (*runtimeapi.ListPodSandboxResponse, error)
	ListContainers(context.Context, *runtimeapi.ListContainersRequest, ...grpc.CallOption) (*runtimeapi.ListContainersResponse, error)
	PodSandboxStatus(context.Context, *runtimeapi.PodSandboxStatusRequest, ...grpc.CallOption) (*runtimeapi.PodSandboxStatusResponse, error)
}

// FromCRI uses a CRI runtime. If the runtime does not respond, the result says so.
func FromCRI(c CRI) Runtime {
	return func(ctx context.Context, pod trace.Pod) (lines, ids []string) {
		labels := map[string]string{podUID: pod.UID}
		sandboxes, err := c.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{Filter: &runtimeapi.PodSandboxFilter{LabelSelector: labels}})
		if err != nil {
			return []string{"sandboxes are not known: " + status.Convert(err).Message()}, nil
		}
		for _, s := range sandboxes.GetItems() {
			line := fmt.Sprintf("sandbox %.12s attempt %d %s", s.GetId(), s.GetMetadata().GetAttempt(), name(s.GetState().String()))
			ids = append(ids, s.GetId())
			if st, err := c.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: s.GetId(), Verbose: true}); err == nil {
				if ip := st.GetStatus().GetNetwork().GetIp(); ip != "" {
					line += " " + ip
				}
				if ns := netns(st.GetInfo()["info"]); ns != "" {
					lines = append(lines, "netns "+ns)
					if !strings.HasPrefix(ns, "/proc/") {
						ids = append(ids, filepath.Base(ns)) // the mount point has another path: /var/run is a symlink
					}
				}
			}
			lines = append(lines, line)
		}
		containers, err := c.ListContainers(ctx, &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{LabelSelector: labels}})
		if err != nil {
			lines = append(lines, "containers are not known: "+status.Convert(err).Message())
		}
		for _, ct := range containers.GetContainers() {
			lines = append(lines, fmt.Sprintf("container %s %.12s attempt %d %s", ct.GetMetadata().GetName(), ct.GetId(), ct.GetMetadata().GetAttempt(), name(ct.GetState().String())))
			ids = append(ids, ct.GetId())
		}
		slices.Sort(lines) // the order of the runtime's lists is undefined
		return lines, ids
	}
}

func name(state string) string {
	return strings.ToLower(strings.TrimPrefix(strings.TrimPrefix(state, "SANDBOX_"), "CONTAINER_"))
}

// netns returns the path of the network namespace from containerd's verbose status.
func netns(info string) string {
	var v struct {
		RuntimeSpec struct {
			Linux struct {
				Namespaces []struct{ Type, Path string }
			}
		}
	}
	if json.Unmarshal([]byte(info), &v) != nil {
		return ""
	}
	for _, n := range v.RuntimeSpec.Linux.Namespaces {
		if n.Type == "network" {
			return n.Path
		}
	}
	return ""
}
