package criconfig

import (
	"errors"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Namespaces returns which namespaces the pod's containers share, and with whom. userNS is the
// mapping allocated to a pod with hostUsers: false, and nil for all others.
//
// Upstream: pkg/kubelet/kuberuntime/util/util.go, NamespacesForPod.
func Namespaces(pod *v1.Pod, userNS *runtimeapi.UserNamespace) (*runtimeapi.NamespaceOption, error) {
	out := &runtimeapi.NamespaceOption{
		Network:       runtimeapi.NamespaceMode_POD,
		Ipc:           runtimeapi.NamespaceMode_POD,
		Pid:           runtimeapi.NamespaceMode_CONTAINER,
		UsernsOptions: &runtimeapi.UserNamespace{Mode: runtimeapi.NamespaceMode_NODE},
	}
	if pod.Spec.HostNetwork {
		out.Network = runtimeapi.NamespaceMode_NODE
	}
	if pod.Spec.HostIPC {
		out.Ipc = runtimeapi.NamespaceMode_NODE
	}
	switch {
	case pod.Spec.HostPID:
		out.Pid = runtimeapi.NamespaceMode_NODE
	case isTrue(pod.Spec.ShareProcessNamespace):
		out.Pid = runtimeapi.NamespaceMode_POD
	}
	if pod.Spec.HostUsers != nil && !*pod.Spec.HostUsers {
		if userNS == nil {
			return nil, errors.New("hostUsers is false, but no user namespace was allocated to the pod")
		}
		out.UsernsOptions = userNS
	}
	return out, nil
}
