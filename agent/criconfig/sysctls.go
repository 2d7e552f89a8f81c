package criconfig

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/node/util/sysctl"
)

// sysctls returns the sysctls of a pod: its own, and the node's for the namespaces that it does not share with the node.
// A name written with slashes becomes one with dots, because runtimes accept only these.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_sandbox.go, applyPodSysctls;
// pkg/kubelet/sysctl/util.go, ConvertPodSysctlsVariableToDotsSeparator.
func sysctls(pod *v1.Pod, node map[string]string) map[string]string {
	out := map[string]string{}
	for name, value := range node {
		if name = sysctl.NormalizeName(name); hasOwn(pod, name) {
			out[name] = value
		}
	}
	for _, s := range podSecurity(pod).Sysctls {
		out[sysctl.NormalizeName(s.Name)] = s.Value
	}
	return out
}

// ofIPC are the sysctls of an IPC namespace, besides those of fs.mqueue.
func ofIPC() []string {
	return []string{
		"kernel.msgmax", "kernel.msgmnb", "kernel.msgmni", "kernel.sem", "kernel.shmall", "kernel.shmmax", "kernel.shmmni", "kernel.shm_rmid_forced",
	}
}

// hasOwn reports whether the pod has a namespace of its own that a sysctl belongs to.
func hasOwn(pod *v1.Pod, name string) bool {
	switch {
	case strings.HasPrefix(name, "fs.mqueue."), slices.Contains(ofIPC(), name):
		return !pod.Spec.HostIPC
	case strings.HasPrefix(name, "net."), name == "kernel.domainname":
		return !pod.Spec.HostNetwork
	case strings.HasPrefix(name, "user."):
		return pod.Spec.HostUsers != nil && !*pod.Spec.HostUsers
	}
	return false
}
