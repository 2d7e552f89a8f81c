package server

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// loggedContainer returns the ID of the container whose log is requested, such as containerd://1f2e. The error says why there is none, with
// upstream's words.
//
// Upstream: pkg/kubelet/kubelet_pods.go, validateContainerLogStatus.
func loggedContainer(pod *v1.Pod, name string, previous bool) (string, error) {
	st := status(pod, name)
	if st == nil {
		return "", fmt.Errorf("container %q in pod %q is not available", name, pod.Name)
	}
	last := ""
	if st.LastTerminationState.Terminated != nil {
		last = st.LastTerminationState.Terminated.ContainerID
	}
	id := ""
	switch {
	case previous:
		if last == "" {
			return "", fmt.Errorf("previous terminated container %q in pod %q not found", name, pod.Name)
		}
		id = last
	case st.State.Running != nil:
		id = st.ContainerID
	case st.State.Terminated != nil:
		// A container whose successor never started has no ID here.
		if id = st.State.Terminated.ContainerID; id == "" {
			id = last
		}
	case st.LastTerminationState.Terminated != nil:
		id = last
	case st.State.Waiting != nil:
		return "", fmt.Errorf("container %q in pod %q is waiting to start: %s", name, pod.Name, waitingFor(st.State.Waiting.Reason))
	default:
		return "", fmt.Errorf("container %q in pod %q is waiting to start - no logs yet", name, pod.Name)
	}
	if bareID(id) == "" {
		return "", fmt.Errorf("container %q in pod %q is terminated", name, pod.Name)
	}
	return id, nil
}

// bareID returns a container's ID without its runtime.
func bareID(id string) string {
	if _, bare, ok := strings.Cut(id, "://"); ok {
		return bare
	}
	return id
}

func waitingFor(reason string) string {
	switch reason {
	case "ErrImagePull":
		return "image can't be pulled"
	case "ImagePullBackOff":
		return "trying and failing to pull image"
	}
	return reason
}
