package snapshot

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// podUID is the label by which a kubelet's sandboxes and containers name their pod.
const podUID = "io.kubernetes.pod.uid"

// CRI is the part of the runtime service that is asked.
type CRI interface {
	ListPodSandbox(context.Context, *runtimeapi.ListPodSandboxRequest, ...grpc.CallOption) (*runtimeapi.ListPodSandboxResponse, error)
	ListContainers(context.Context, *runtimeapi.ListContainersRequest, ...grpc.CallOption) (*runtimeapi.ListContainersResponse, error)
	PodSandboxStatus(context.Context, *runtimeapi.PodSandboxStatusRequest, ...grpc.CallOption) (*runtimeapi.PodSandboxStatusResponse, error)
}

// FromCRI asks a CRI runtime. A runtime that does not answer has nothing to show.
func FromCRI(c CRI) Runtime {
	return func(ctx context.Context, pod trace.Pod) (lines, ids []string) {
		labels := map[string]string{podUID: pod.UID}
		sandboxes, err := c.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{Filter: &runtimeapi.PodSandboxFilter{LabelSelector: labels}})
		if err != nil {
			return nil, nil
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
					ids = append(ids, ns)
				}
			}
			lines = append(lines, line)
		}
		containers, err := c.ListContainers(ctx, &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{LabelSelector: labels}})
		if err != nil {
			return lines, ids
		}
		for _, ct := range containers.GetContainers() {
			lines = append(lines, fmt.Sprintf("container %s %.12s attempt %d %s", ct.GetMetadata().GetName(), ct.GetId(), ct.GetMetadata().GetAttempt(), name(ct.GetState().String())))
			ids = append(ids, ct.GetId())
		}
		return lines, ids
	}
}

func name(state string) string {
	return strings.ToLower(strings.TrimPrefix(strings.TrimPrefix(state, "SANDBOX_"), "CONTAINER_"))
}

// netns is the network namespace's path in the verbose status of containerd.
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
