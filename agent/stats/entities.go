package stats

import (
	"cmp"
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/kubeloupe/kubeloupe/agent/exposition"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// entity is something that has lines in cAdvisor's metrics: a container, a sandbox, a pod, a tier of pods, the node.
type entity struct {
	labels exposition.Labels
	stats  statsapi.ContainerStats
	net    *statsapi.NetworkStats
	// pod is the UID of its pod, "" if it is not part of one.
	pod types.UID
	// cgroup is its path, "" if it is unknown.
	cgroup string
	// container says that cgroups below its own are part of it, too.
	container bool
	// fileSystems are those of the node's block devices; of others, there are none.
	fileSystems []fileSystem
	// created is when it was created; zero if that is not known.
	created time.Time
	// figures are what the cgroup's files say.
	figures figures
}

// started returns when it started: a cgroup, when it was created.
func (x *entity) started() time.Time {
	if x.stats.StartTime.IsZero() {
		return x.created
	}
	return x.stats.StartTime.Time
}

// entities returns what the summary is about, the tiers of pods, and the cgroups of the agent, of the runtime and of the system. A pod is
// followed by its sandbox, which has the pod's network, and its containers.
func (s *Stats) entities(ctx context.Context, sum *statsapi.Summary, now time.Time) []entity {
	n := sum.Node
	out := []entity{{
		labels: labelsOf("", top, "", "", "", ""), stats: statsapi.ContainerStats{StartTime: n.StartTime, CPU: n.CPU, Memory: n.Memory, IO: n.IO, Rootfs: n.Fs},
		net: n.Network, cgroup: top, fileSystems: s.fileSystems(now), created: n.StartTime.Time,
	}}
	for _, at := range slices.Concat(s.cfg.Tiers, s.systemCgroups()) {
		if cpu, mem := s.cgroupCPU("t"+at, at, now), s.cgroupMemory(at, now); cpu != nil || mem != nil {
			out = append(out, entity{labels: labelsOf("", at, "", "", "", ""), stats: statsapi.ContainerStats{CPU: cpu, Memory: mem}, cgroup: at, created: s.tree.made(at)})
		}
	}
	cgroups := map[types.UID]string{}
	for _, p := range s.cfg.Pods() {
		cgroups[p.UID] = s.podCgroup(&p)
	}
	until, cancel := context.WithTimeout(ctx, imagesWait)
	defer cancel()
	boxes := map[string]bool{}
	for i := range sum.Pods {
		p := &sum.Pods[i]
		uid := types.UID(p.PodRef.UID)
		seen := s.cfg.Observed(uid)
		out = s.podEntities(until, out, p, seen, cgroups[uid])
		if box := seen.Sandbox(); box != nil {
			boxes[box.ID] = true
		}
	}
	s.images.keep(boxes)
	for i := range out {
		out[i].figures = s.figures(out[i].cgroup, &out[i].stats)
		if s.tree.v2 && !out[i].container {
			s.tree.v2OwnKills(&out[i].figures, out[i].cgroup)
		}
	}
	return out
}

// podEntities adds a pod with the cgroup at path, its sandbox and its containers.
//
// Upstream: pkg/kubelet/server/server.go, containerPrometheusLabelsFunc.
func (s *Stats) podEntities(ctx context.Context, out []entity, p *statsapi.PodStats, seen *podstate.Pod, path string) []entity {
	uid, of := types.UID(p.PodRef.UID), len(out)
	out = append(out, entity{
		labels: labelsOf("", path, "", "", p.PodRef.Namespace, p.PodRef.Name),
		stats:  statsapi.ContainerStats{StartTime: p.StartTime, CPU: p.CPU, Memory: p.Memory, IO: p.IO},
		net:    p.Network, pod: uid, cgroup: path, created: p.StartTime.Time,
	})
	if box, ok := s.sandbox(ctx, seen.Sandbox(), path, p.PodRef); ok {
		box.pod, box.net, out[of].net = uid, p.Network, nil
		out = append(out, box)
	}
	for _, c := range p.Containers {
		var id, image, at string
		var created time.Time
		if o := seen.Newest(c.Name); o != nil {
			id, image, at, created = o.ID, o.Image, s.tree.container(path, o.ID), o.CreatedAt
			c.StartTime = metav1.NewTime(o.StartedAt)
		}
		out = append(out, entity{labels: labelsOf(c.Name, at, image, id, p.PodRef.Namespace, p.PodRef.Name), stats: c, pod: uid, cgroup: at, container: true, created: created})
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
func labelsOf(container, id, image, name, namespace, pod string) exposition.Labels {
	return exposition.LabelsOf("container", container, "id", id, "image", image, "name", name, "namespace", namespace, "pod", pod)
}
