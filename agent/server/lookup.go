package server

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubelettypes "k8s.io/kubelet/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// meant reports whether the client's UID, if it sent one, is the pod's.
func (s *Server) meant(pod *v1.Pod, uid types.UID) bool {
	if uid != "" && s.cfg.UID != nil {
		uid = s.cfg.UID(uid)
	}
	return uid == "" || uid == pod.UID
}

// running returns the ID of the running container, "" if there is none. It asks the runtime only if the container was
// not observed running: it may have started just now.
//
// Upstream: pkg/kubelet/kubelet_pods.go, findContainer.
func (s *Server) running(ctx context.Context, pod *v1.Pod, uid types.UID, name string) (string, error) {
	if !s.meant(pod, uid) {
		return "", nil
	}
	if c := s.cfg.Observed.Get(pod.UID).Newest(name); c != nil && c.State == podstate.Running {
		return c.ID, nil
	}
	list, err := s.cfg.Runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{
		State: &runtimeapi.ContainerStateValue{State: runtimeapi.ContainerState_CONTAINER_RUNNING},
		LabelSelector: map[string]string{
			kubelettypes.KubernetesPodUIDLabel: string(pod.UID), kubelettypes.KubernetesContainerNameLabel: name,
		},
	}})
	if err != nil || len(list.Containers) == 0 {
		return "", err
	}
	return list.Containers[0].Id, nil
}

// status returns the container's status, or nil.
func status(pod *v1.Pod, name string) *v1.ContainerStatus {
	for _, list := range [][]v1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses, pod.Status.EphemeralContainerStatuses} {
		if i := slices.IndexFunc(list, func(c v1.ContainerStatus) bool { return c.Name == name }); i >= 0 {
			return &list[i]
		}
	}
	return nil
}

// fullName returns a pod's name as in upstream's messages.
func fullName(pod *v1.Pod) string { return fmt.Sprintf("%s_%s", pod.Name, pod.Namespace) }
