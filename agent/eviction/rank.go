package eviction

import (
	"cmp"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
	corev1 "k8s.io/component-helpers/scheduling/corev1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/qos"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// ranked is a pod with the figures of its rank.
type ranked struct {
	pod   *v1.Pod
	stats *statsapi.PodStats // nil if unknown
	// usage and request are of the resource, in the signal's unit.
	usage, request int64
}

// over reports whether the pod uses more than it requests.
func (r *ranked) over() bool { return r.usage > r.request }

// rank returns the pods in the order in which they are evicted for a signal: pods of unknown usage, pods that use more than they request,
// lower priorities, more usage above the request. For process ids, only priority and usage count. Pods that are equal keep the order of
// their names, so that the ranking is the same each time.
//
// Upstream: pkg/kubelet/eviction/helpers.go, rankMemoryPressure, rankDiskPressureFunc, rankPIDPressure.
func rank(s trace.Signal, l Layout, pods []*v1.Pod, stats map[string]*statsapi.PodStats) []ranked {
	out := make([]ranked, 0, len(pods))
	for _, pod := range pods {
		r := ranked{pod: pod, stats: stats[string(pod.UID)], request: requestOf(s, pod)}
		if r.stats != nil {
			r.usage = usageOf(s, l, pod, r.stats)
		}
		out = append(out, r)
	}
	sorting.Stable(out, func(a, b *ranked) int {
		priority := cmp.Compare(corev1.PodPriority(a.pod), corev1.PodPriority(b.pod))
		early := first(a.stats == nil, b.stats == nil)
		if s == trace.SignalPID {
			priority, early = 0, cmp.Or(priority, early)
		} else if early == 0 && a.stats != nil {
			early = first(a.over(), b.over())
		}
		return cmp.Or(early, priority, cmp.Compare(b.usage-b.request, a.usage-a.request),
			cmp.Compare(a.pod.Namespace, b.pod.Namespace), cmp.Compare(a.pod.Name, b.pod.Name))
	})
	return out
}

// first orders true before false.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// requestOf returns what a pod requests of a signal's resource; nothing can be requested of inodes and process ids. A pod with resources of
// its own does not request what its containers do. Overhead alone is no request.
//
// Upstream: pkg/api/v1/resource/helpers.go, GetResourceRequestQuantity. In the rank by inodes, upstream subtracts the request of ephemeral storage, which is
// in bytes.
func requestOf(s trace.Signal, pod *v1.Pod) int64 {
	name := resourceOf(s)
	if name == inodes || name == pids {
		return 0
	}
	request := resource.PodRequests(pod, resource.PodResourcesOptions{ExcludeOverhead: true, SkipContainerLevelResources: resource.IsPodLevelResourcesSet(pod)})[name]
	if request.IsZero() {
		return 0
	}
	overhead := pod.Spec.Overhead[name]
	return request.Value() + overhead.Value()
}

// usageOf returns what a pod uses of a signal's resource.
func usageOf(s trace.Signal, l Layout, pod *v1.Pod, st *statsapi.PodStats) int64 {
	switch {
	case memory(s):
		return memoryOf(st.Memory)
	case s == trace.SignalPID:
		if st.ProcessStats == nil {
			return 0
		}
		return value(st.ProcessStats.ProcessCount)
	}
	return diskOf(s, l.parts(s), pod, st)
}

func memoryOf(m *statsapi.MemoryStats) int64 {
	if m == nil {
		return 0
	}
	return value(m.WorkingSetBytes)
}

// diskOf returns the bytes or inodes of parts of a pod. Of its volumes, only those on the node's disk count.
func diskOf(s trace.Signal, p parts, pod *v1.Pod, st *statsapi.PodStats) (sum int64) {
	add := func(fs *statsapi.FsStats) {
		switch {
		case fs == nil:
		case s.Unit() == trace.UnitInodes:
			sum += value(fs.InodesUsed)
		default:
			sum += value(fs.UsedBytes)
		}
	}
	for i := range st.Containers {
		if p.layers {
			add(st.Containers[i].Rootfs)
		}
		if p.logs {
			add(st.Containers[i].Logs)
		}
	}
	for i := range pod.Spec.Volumes {
		if v := &pod.Spec.Volumes[i]; p.volumes && (v.HostPath != nil || podspec.OnDisk(v)) {
			add(volumeOf(st, v.Name))
		}
	}
	return sum
}

func volumeOf(st *statsapi.PodStats, name string) *statsapi.FsStats {
	for i := range st.VolumeStats {
		if st.VolumeStats[i].Name == name {
			return &st.VolumeStats[i].FsStats
		}
	}
	return nil
}

func value(n *uint64) int64 {
	if n == nil {
		return 0
	}
	return int64(*n)
}

// ranking returns pods as an event has them.
func ranking(all []ranked) []trace.RankedPod {
	out := make([]trace.RankedPod, 0, len(all))
	for i := range all {
		r := &all[i]
		out = append(out, trace.RankedPod{
			Pod: podspec.Ref(r.pod).String(), QoS: trace.QoSClass(qos.Class(r.pod)), Priority: corev1.PodPriority(r.pod),
			Usage: r.usage, Request: r.request, Unknown: r.stats == nil, Spared: podspec.CriticalPod(r.pod),
		})
	}
	return out
}
