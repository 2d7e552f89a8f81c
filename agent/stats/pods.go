package stats

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	kubelettypes "k8s.io/kubelet/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// pods returns the usage of the runtime's pods.
//
// Upstream: pkg/kubelet/stats/cri_stats_provider.go, listPodStatsStrictlyFromCRI.
func (s *Stats) pods(ctx context.Context, images *statsapi.FsStats, brief bool, fresh func(uid string) bool, now time.Time) ([]statsapi.PodStats, error) {
	sandboxes, err := s.sandboxes(ctx)
	if err != nil {
		return []statsapi.PodStats{}, err
	}
	specs := map[types.UID]*v1.Pod{}
	for _, p := range s.cfg.Pods() {
		specs[p.UID] = &p
	}
	out := make([]statsapi.PodStats, 0, len(sandboxes))
	until, cancel := context.WithTimeout(ctx, walksWait)
	defer cancel()
	disks := &layers{images: images, known: map[string]*statsapi.FsStats{}}
	for _, sb := range sandboxes {
		spec := specs[types.UID(sb.GetAttributes().GetMetadata().GetUid())]
		cgroup := s.podCgroup(spec)
		p := s.pod(sb, cgroup, brief, now)
		if !brief {
			s.storage(walks{until, fresh != nil && fresh(p.PodRef.UID)}, &p, sb, spec, disks, now)
			p.Network = network(sb.GetLinux().GetNetwork())
			p.ProcessStats = s.processStats(sb, cgroup)
		}
		out = append(out, p)
	}
	s.rates.forget(now)
	sorting.Stable(out, func(a, b *statsapi.PodStats) int {
		return cmp.Or(cmp.Compare(a.PodRef.Namespace, b.PodRef.Namespace), cmp.Compare(a.PodRef.Name, b.PodRef.Name), cmp.Compare(a.PodRef.UID, b.PodRef.UID))
	})
	return out, nil
}

// sandboxes returns the newest sandbox of each pod. If the runtime has no statistics of sandboxes, or fails because it has none of one of
// them, those of its containers are used.
func (s *Stats) sandboxes(ctx context.Context) (map[string]*runtimeapi.PodSandboxStats, error) {
	list, err := s.cfg.Runtime.ListPodSandboxStats(ctx, &runtimeapi.ListPodSandboxStatsRequest{})
	if err != nil {
		return s.withoutSandboxes(ctx, err)
	}
	s.failing.Store(false)
	newest := map[string]*runtimeapi.PodSandboxStats{}
	for _, sb := range list.Stats {
		m := sb.GetAttributes().GetMetadata()
		if m.GetUid() == "" {
			continue // the runtime does not say whose they are
		}
		if old := newest[m.GetUid()]; old == nil || old.Attributes.Metadata.Attempt < m.GetAttempt() {
			newest[m.GetUid()] = sb
		}
	}
	return newest, nil
}

// withoutSandboxes returns the sandboxes with the statistics of their containers only, because those of sandboxes failed.
func (s *Stats) withoutSandboxes(ctx context.Context, failed error) (map[string]*runtimeapi.PodSandboxStats, error) {
	failed = fmt.Errorf("statistics of pods: %w", failed)
	if ctx.Err() != nil {
		return nil, failed
	}
	containers, err := s.cfg.Runtime.ListContainerStats(ctx, &runtimeapi.ListContainerStatsRequest{})
	if err != nil {
		return nil, fmt.Errorf("%w; statistics of containers: %w", failed, err)
	}
	if grpcstatus.Code(failed) != codes.Unimplemented && !s.failing.Swap(true) {
		trace.Point(s.cfg.Bus, trace.FromContext(ctx), trace.Log{Level: trace.LevelWarn, Message: failed.Error() + "; those of containers are used"})
	}
	out := map[string]*runtimeapi.PodSandboxStats{}
	for _, c := range containers.Stats {
		l := c.GetAttributes().GetLabels()
		uid := l[kubelettypes.KubernetesPodUIDLabel]
		if uid == "" || hasExited(c) { // no pod of a kubelet, or one that may have ended
			continue
		}
		if out[uid] == nil {
			out[uid] = sandboxOf(uid, l[kubelettypes.KubernetesPodNameLabel], l[kubelettypes.KubernetesPodNamespaceLabel])
		}
		out[uid].Linux.Containers = append(out[uid].Linux.Containers, c)
	}
	for _, p := range s.cfg.Pods() { // a pod that has no container yet uses little, but that is known
		if box := s.cfg.Observed(p.UID).Sandbox(); out[string(p.UID)] == nil && box != nil && box.Ready {
			out[string(p.UID)] = sandboxOf(string(p.UID), p.Name, p.Namespace)
		}
	}
	return out, nil
}

// sandboxOf returns the sandbox of a pod without statistics.
func sandboxOf(uid, name, namespace string) *runtimeapi.PodSandboxStats {
	return &runtimeapi.PodSandboxStats{
		Attributes: &runtimeapi.PodSandboxAttributes{Metadata: &runtimeapi.PodSandboxMetadata{Uid: uid, Name: name, Namespace: namespace}},
		Linux:      &runtimeapi.LinuxPodSandboxStats{},
	}
}

// processStats returns the number of a pod's processes and threads: the runtime's, or else that of the pod's cgroup; nil if it is unknown.
func (s *Stats) processStats(sb *runtimeapi.PodSandboxStats, cgroup string) *statsapi.ProcessStats {
	if n := sb.GetLinux().GetProcess().GetProcessCount(); n != nil {
		return &statsapi.ProcessStats{ProcessCount: value(n)}
	}
	if cgroup == "" {
		return nil
	}
	n, ok := s.tree.number("pids", cgroup, "pids.current")
	if !ok {
		return nil
	}
	return &statsapi.ProcessStats{ProcessCount: &n}
}

// podCgroup returns a pod's cgroup, "" if it is unknown.
func (s *Stats) podCgroup(pod *v1.Pod) string {
	if pod == nil || s.cfg.PodCgroup == nil {
		return ""
	}
	return s.cfg.PodCgroup(pod)
}

// pod translates CPU, memory and I/O of a pod and its containers; with brief, not I/O. cgroup is the pod's, "" if it is
// unknown.
func (s *Stats) pod(sb *runtimeapi.PodSandboxStats, cgroup string, brief bool, now time.Time) statsapi.PodStats {
	m := sb.GetAttributes().GetMetadata()
	p := statsapi.PodStats{
		PodRef:     statsapi.PodReference{Name: m.GetName(), Namespace: m.GetNamespace(), UID: m.GetUid()},
		Containers: []statsapi.ContainerStats{},
	}
	seen := s.cfg.Observed(types.UID(m.GetUid()))
	if box := seen.Sandbox(); box != nil {
		p.StartTime = metav1.NewTime(box.CreatedAt)
	}
	for _, c := range running(sb) {
		out := s.container(c, cgroup, brief, now)
		if o := seen.Container(c.GetAttributes().GetId()); o != nil {
			out.StartTime = metav1.NewTime(o.CreatedAt) // upstream's, too, is when it was created
		}
		p.Containers = append(p.Containers, out)
	}
	p.CPU = s.cpu("p/"+m.GetUid(), sb.GetLinux().GetCpu(), now)
	p.Memory = s.memory(sb.GetLinux().GetMemory(), cgroup, now)
	if p.CPU == nil && p.Memory == nil {
		p.CPU, p.Memory = sum(p.Containers, now)
	}
	s.addPressure(cgroup, p.CPU, p.Memory)
	p.Swap = s.cgroupSwap(cgroup, now)
	if !brief {
		p.IO = s.io(sb.GetLinux().GetIo(), cgroup, now)
	}
	return p
}

// running returns the statistics of a sandbox's containers that run, of each the newest attempt: a runtime may also list those that have
// exited, in any order.
//
// Upstream: pkg/kubelet/stats/cri_stats_provider.go, removeTerminatedContainers.
func running(sb *runtimeapi.PodSandboxStats) (out []*runtimeapi.ContainerStats) {
	for _, c := range sb.GetLinux().GetContainers() {
		if hasExited(c) {
			continue
		}
		meta := c.GetAttributes().GetMetadata()
		i := slices.IndexFunc(out, func(o *runtimeapi.ContainerStats) bool {
			return o.GetAttributes().GetMetadata().GetName() == meta.GetName()
		})
		switch {
		case i < 0:
			out = append(out, c)
		case meta.GetAttempt() > out[i].GetAttributes().GetMetadata().GetAttempt():
			out[i] = c
		}
	}
	return out
}

// hasExited reports whether a container has exited: then the runtime has only the size of its writable layer.
func hasExited(c *runtimeapi.ContainerStats) bool { return c.GetCpu() == nil && c.GetMemory() == nil }

// container translates CPU, memory and I/O of a container of the pod with the cgroup.
func (s *Stats) container(c *runtimeapi.ContainerStats, cgroup string, brief bool, now time.Time) statsapi.ContainerStats {
	id := c.GetAttributes().GetId()
	at := s.tree.container(cgroup, id)
	out := statsapi.ContainerStats{
		Name: c.GetAttributes().GetMetadata().GetName(), CPU: s.cpu("c/"+id, c.GetCpu(), now), Memory: s.memory(c.GetMemory(), at, now), Swap: swap(c.GetSwap(), now),
	}
	if out.Swap == nil {
		out.Swap = s.cgroupSwap(at, now)
	}
	s.addPressure(at, out.CPU, out.Memory)
	if !brief {
		out.IO = s.io(c.GetIo(), at, now)
	}
	return out
}

// storage adds the disk usage of the pod and its containers, which are those that run, as far as it is known.
func (s *Stats) storage(w walks, p *statsapi.PodStats, sb *runtimeapi.PodSandboxStats, spec *v1.Pod, disks *layers, now time.Time) {
	seen := s.cfg.Observed(types.UID(p.PodRef.UID))
	total := s.ownFiles(types.UID(p.PodRef.UID), seen)
	for i, from := range running(sb) {
		c := &p.Containers[i]
		if layer := from.GetWritableLayer(); layer != nil {
			c.Rootfs = s.rootfs(disks, layer, now)
		}
		if o := seen.Newest(c.Name); o != nil && o.LogPath != "" {
			dir := filepath.Dir(o.LogPath)
			if h, ok := s.usage.of(w, dir, now); ok {
				c.Logs = on(s.fsOf(dir, now), &h.bytes, &h.inodes, now)
			}
		}
		for _, fs := range []*statsapi.FsStats{c.Rootfs, c.Logs} {
			if fs != nil {
				total.add(held{or0(fs.UsedBytes), or0(fs.InodesUsed)})
			}
		}
	}
	if spec != nil {
		var local held
		p.VolumeStats, local = s.volumes(w, spec, now)
		total.add(local)
	}
	p.EphemeralStorage = on(s.fsOf(s.cfg.RootDir, now), &total.bytes, &total.inodes, now)
}

// on returns a usage of bytes and inodes on a file system.
func on(fs *statsapi.FsStats, bytes, inodes *uint64, now time.Time) *statsapi.FsStats {
	out := statsapi.FsStats{Time: metav1.NewTime(now)}
	if fs != nil {
		out = *fs
	}
	out.UsedBytes, out.InodesUsed = bytes, inodes
	return &out
}
