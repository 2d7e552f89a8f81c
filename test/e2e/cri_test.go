package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	labelPod       = "io.kubernetes.pod.name"
	labelUID       = "io.kubernetes.pod.uid"
	labelContainer = "io.kubernetes.container.name"
)

// containers returns a pod's containers from the runtime, newest first.
func (n *node) containers(pod string) []*runtimeapi.Container {
	n.t.Helper()
	r, err := n.runtime.ListContainers(n.ctx(), &runtimeapi.ListContainersRequest{
		Filter: &runtimeapi.ContainerFilter{LabelSelector: map[string]string{labelPod: n.pod(pod)}},
	})
	if err != nil {
		n.t.Fatal(err)
	}
	slices.SortFunc(r.Containers, func(a, b *runtimeapi.Container) int { return int(b.CreatedAt - a.CreatedAt) })
	return r.Containers
}

// sandboxes returns a pod's sandboxes from the runtime, newest first.
func (n *node) sandboxes(pod string) []*runtimeapi.PodSandbox {
	n.t.Helper()
	r, err := n.runtime.ListPodSandbox(n.ctx(), &runtimeapi.ListPodSandboxRequest{
		Filter: &runtimeapi.PodSandboxFilter{LabelSelector: map[string]string{labelPod: n.pod(pod)}},
	})
	if err != nil {
		n.t.Fatal(err)
	}
	slices.SortFunc(r.Items, func(a, b *runtimeapi.PodSandbox) int { return int(b.CreatedAt - a.CreatedAt) })
	return r.Items
}

// runs returns what runs of a pod, as "container attempt id", in order, after it has
// checked that there is exactly one ready sandbox and that all runs in it.
func (n *node) runs(pod string) []string {
	n.t.Helper()
	var ready []string
	for _, s := range n.sandboxes(pod) {
		if s.State == runtimeapi.PodSandboxState_SANDBOX_READY {
			ready = append(ready, s.Id)
		}
	}
	if len(ready) != 1 {
		n.t.Errorf("%s has %d ready sandboxes, want 1", pod, len(ready))
	}
	var out []string
	for _, c := range n.containers(pod) {
		if c.State == runtimeapi.ContainerState_CONTAINER_RUNNING {
			out = append(out, fmt.Sprintf("%s %d %s", c.Metadata.Name, c.Metadata.Attempt, c.Id))
			if !slices.Contains(ready, c.PodSandboxId) {
				n.t.Errorf("%s runs outside of the ready sandbox", c.Metadata.Name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// left names what is left of the node's pods: none of it may be there once all are gone.
func (n *node) left() []string {
	n.t.Helper()
	var left []string
	if r, err := n.runtime.ListPodSandbox(n.ctx(), &runtimeapi.ListPodSandboxRequest{}); err != nil {
		left = append(left, err.Error())
	} else {
		for _, s := range r.Items {
			left = append(left, fmt.Sprintf("sandbox %s of %s, %s", s.Id, s.Metadata.Name, s.State))
		}
	}
	if r, err := n.runtime.ListContainers(n.ctx(), &runtimeapi.ListContainersRequest{}); err != nil {
		left = append(left, err.Error())
	} else {
		for _, c := range r.Containers {
			left = append(left, fmt.Sprintf("container %s %s, %s", c.Metadata.Name, c.Id, c.State))
		}
	}
	for _, m := range n.mounts(n.root) {
		left = append(left, "mount "+m)
	}
	for _, m := range n.mounts(filepath.Join(n.Dir, "state")) {
		left = append(left, "mount of the runtime "+m)
	}
	left = append(left, n.podCgroups()...)
	for _, pattern := range []string{filepath.Join(n.root, "pods", "*"), filepath.Join(n.logs, "*"), filepath.Join(filepath.Dir(n.logs), "containers", "*")} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			left = append(left, err.Error())
		}
		left = append(left, found...)
	}
	return left
}

// mounts returns the mount points below dir.
func (n *node) mounts(dir string) []string {
	n.t.Helper()
	infos, err := mountinfo.GetMounts(mountinfo.PrefixFilter(dir))
	if err != nil {
		n.t.Fatal(err)
	}
	var out []string
	for _, m := range infos {
		out = append(out, m.Mountpoint)
	}
	return out
}

// podCgroups returns the pod cgroups of the node in all hierarchies.
func (n *node) podCgroups() []string {
	var out []string
	for _, tier := range []string{"", "burstable", "besteffort"} {
		for _, tree := range []string{"/sys/fs/cgroup/*", "/sys/fs/cgroup"} {
			found, err := filepath.Glob(filepath.Join(tree, n.cgroup, "kubepods", tier, "pod*"))
			if err == nil {
				out = append(out, found...)
			}
		}
	}
	return out
}

// cgroupFile reads a file of a container's or pod's cgroup, of v1's controller or v2's single tree.
func (n *node) cgroupFile(controller, cgroup, file string) string {
	n.t.Helper()
	text, err := os.ReadFile(filepath.Join("/sys/fs/cgroup", controller, n.cgroup, cgroup, file))
	if err != nil {
		n.t.Error(err)
	}
	return strings.TrimSpace(string(text))
}
