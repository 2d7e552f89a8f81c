package stats

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// entity is something that has lines in cAdvisor's metrics: a container, a pod, a tier of pods, the node.
type entity struct {
	labels []string
	stats  statsapi.ContainerStats
	net    *statsapi.NetworkStats
	// cgroup is its path, "" if it is unknown.
	cgroup string
	// created is when it was created; zero if that is not known.
	created time.Time
}

// entities returns what the summary is about, the tiers of pods, and the cgroups of the agent, of the runtime and of the system.
func (s *Stats) entities(sum *statsapi.Summary, now time.Time) []entity {
	n := sum.Node
	out := []entity{{
		labelsOf("", top, "", "", "", ""), statsapi.ContainerStats{StartTime: n.StartTime, CPU: n.CPU, Memory: n.Memory, Rootfs: n.Fs}, n.Network, top, n.StartTime.Time,
	}}
	for _, at := range slices.Concat(s.cfg.Tiers, s.systemCgroups()) {
		if cpu, mem := s.cgroupCPU("t"+at, at, now), s.cgroupMemory(at, now); cpu != nil || mem != nil {
			out = append(out, entity{labelsOf("", at, "", "", "", ""), statsapi.ContainerStats{CPU: cpu, Memory: mem}, nil, at, s.tree.made(at)})
		}
	}
	cgroups := map[types.UID]string{}
	for _, p := range s.cfg.Pods() {
		cgroups[p.UID] = s.podCgroup(&p)
	}
	for _, p := range sum.Pods {
		uid := types.UID(p.PodRef.UID)
		out = append(out, entity{
			labelsOf("", cgroups[uid], "", "", p.PodRef.Namespace, p.PodRef.Name),
			statsapi.ContainerStats{StartTime: p.StartTime, CPU: p.CPU, Memory: p.Memory},
			p.Network, cgroups[uid], p.StartTime.Time,
		})
		for _, c := range p.Containers {
			var id, image, at string
			var created time.Time
			if o := s.cfg.Observed(uid).Newest(c.Name); o != nil {
				id, image, at, created = o.ID, o.Image, s.tree.container(cgroups[uid], o.ID), o.CreatedAt
			}
			out = append(out, entity{labelsOf(c.Name, at, image, id, p.PodRef.Namespace, p.PodRef.Name), c, nil, at, created})
		}
	}
	return out
}

// systemCgroups returns the known cgroups of the agent, of the runtime and of the system's other processes.
//
// Upstream: cmd/kubelet/app/server.go, cgroupRoots.
func (s *Stats) systemCgroups() []string {
	all := []string{cmp.Or(s.cfg.KubeletCgroup, s.ownCgroup()), s.cfg.RuntimeCgroup, s.cfg.SystemCgroup}
	all = slices.DeleteFunc(all, func(at string) bool { return at == "" || at == top || slices.Contains(s.cfg.Tiers, at) })
	slices.Sort(all)
	return slices.Compact(all)
}

// labelsOf returns cAdvisor's labels; id is the path of the cgroup.
func labelsOf(container, id, image, name, namespace, pod string) []string {
	return []string{"container", container, "id", id, "image", image, "name", name, "namespace", namespace, "pod", pod}
}
