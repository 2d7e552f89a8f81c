// Package cgroupname reads the names of the cgroups that kubelets and runtimes make: the agent finds its pods by them, and an observer another
// kubelet's.
//
// It opens no file and publishes no event.
package cgroupname

import "strings"

// Pod returns the UID in the base name of a pod's cgroup, "" for other names: podUID with cgroupfs, and with systemd a slice that ends with
// -podUID.slice, with _ for - in the UID. Whatever follows pod is taken for a UID: a caller that reads names which others give checks it.
//
// Upstream: pkg/kubelet/cm/pod_container_manager_linux.go, GetPodContainerName; pkg/kubelet/cm/cgroup_manager_linux.go, ToSystemd.
func Pod(base string) string {
	name, systemd := strings.CutSuffix(base, ".slice")
	if systemd {
		name = strings.ReplaceAll(last(name), "_", "-")
	}
	uid, ok := strings.CutPrefix(name, "pod")
	if !ok {
		return ""
	}
	return uid
}

// Container returns the ID in the base name of a container's cgroup: ID or crio-ID with cgroupfs, and with systemd a scope such as
// cri-containerd-ID.scope. Any other name is returned as it is.
func Container(base string) string {
	if name, systemd := strings.CutSuffix(base, ".scope"); systemd {
		return last(name)
	}
	return strings.TrimPrefix(base, "crio-")
}

// last is what follows the last dash.
func last(name string) string { return name[strings.LastIndexByte(name, '-')+1:] }
