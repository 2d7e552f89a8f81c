package oom

import (
	"slices"
	"strings"
)

// place is where a cgroup may belong: a pod and, if it is a container's cgroup or one below it, the container.
type place struct{ uid, container string }

// places returns the pods that a cgroup's name contains, the innermost first: the agent itself may run in a pod of another one. Names of
// cgroupfs are /kubepods/burstable/podUID/ID, of systemd /kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID.slice/RUNTIME-ID.scope,
// with _ for - in the UID.
func places(cgroup string) (out []place) {
	parts := strings.Split(cgroup, "/")
	for i, part := range slices.Backward(parts) {
		uid := podUID(part)
		if uid == "" {
			continue
		}
		p := place{uid: uid}
		if i+1 < len(parts) {
			p.container = containerID(parts[i+1])
		}
		out = append(out, p)
	}
	return out
}

// podUID is the UID in the name of a pod's cgroup, "" for other names.
func podUID(name string) string {
	base, systemd := strings.CutSuffix(name, ".slice")
	if systemd {
		base = strings.ReplaceAll(base[strings.LastIndexByte(base, '-')+1:], "_", "-")
	}
	uid, _ := strings.CutPrefix(base, "pod")
	if uid == base {
		return ""
	}
	return uid
}

// containerID is the container whose cgroup has this name: ID, crio-ID, or cri-containerd-ID.scope and the like.
func containerID(name string) string {
	base, systemd := strings.CutSuffix(name, ".scope")
	if systemd {
		return base[strings.LastIndexByte(base, '-')+1:]
	}
	return strings.TrimPrefix(base, "crio-")
}
