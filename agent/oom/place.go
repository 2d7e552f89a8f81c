package oom

import (
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace/cgroupname"
)

// place is where a cgroup may belong: a pod and, if it is a container's cgroup or one below it, the container.
type place struct{ uid, container string }

// places returns the pods that a cgroup's name contains, the innermost first: the agent itself may run in a pod of another one. Names of
// cgroupfs are /kubepods/burstable/podUID/ID, of systemd /kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID.slice/RUNTIME-ID.scope,
// with _ for - in the UID.
func places(cgroup string) (out []place) {
	parts := strings.Split(cgroup, "/")
	for i, part := range slices.Backward(parts) {
		uid := cgroupname.Pod(part)
		if uid == "" {
			continue
		}
		p := place{uid: uid}
		if i+1 < len(parts) {
			p.container = cgroupname.Container(parts[i+1])
		}
		out = append(out, p)
	}
	return out
}
