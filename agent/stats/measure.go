package stats

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// Node is what the node has left; what is nil is unknown.
type Node struct {
	// Memory is the node's, Pods that of all pods together: what they use, and what is left of their limit.
	Memory, Pods *statsapi.MemoryStats
	Processes    *statsapi.RlimitStats
	// Root is the file system of the agent's directory; Images and Containers are those of the runtime.
	Root, Images, Containers *statsapi.FsStats
}

// Node measures the node, without its pods, and without a call to the runtime. d is where the runtime's file systems are.
func (s *Stats) Node(d Disks) Node {
	now := time.Now()
	out := Node{Memory: s.nodeMemory(now), Pods: s.podsMemory(now), Processes: s.rlimit(now), Root: s.fsOf(s.cfg.RootDir, now)}
	if d.Images != "" {
		out.Images = s.fsOf(d.Images, now)
	}
	if d.Containers != "" {
		out.Containers = s.fsOf(d.Containers, now)
	}
	return out
}

// podsMemory returns the memory of all pods together. Without a limit, they may use what the node has.
//
// Upstream: pkg/kubelet/stats/helper.go, cadvisorInfoToCPUandMemoryStats.
func (s *Stats) podsMemory(now time.Time) *statsapi.MemoryStats {
	at := s.PodsCgroup()
	if at == "" {
		return nil
	}
	out := s.cgroupMemory(at, now)
	if all := s.fields("meminfo")["MemTotal:"] << 10; out != nil && all > 0 {
		if limit, ok := s.tree.memoryLimit(at); ok {
			all = min(all, limit)
		}
		out.AvailableBytes = new(less(all, *out.WorkingSetBytes))
	}
	return out
}

// Disks is where the runtime keeps images, and containers' writable layers; "" means unknown.
type Disks struct{ Images, Containers string }

// Disks asks the runtime where its file systems are.
func (s *Stats) Disks(ctx context.Context) (Disks, error) {
	info, err := s.cfg.Images.ImageFsInfo(ctx, &runtimeapi.ImageFsInfoRequest{})
	if err != nil {
		return Disks{}, err
	}
	var out Disks
	if fs := info.GetImageFilesystems(); len(fs) > 0 {
		out.Images = fs[0].GetFsId().GetMountpoint()
	}
	out.Containers = out.Images
	if fs := info.GetContainerFilesystems(); len(fs) > 0 {
		out.Containers = fs[0].GetFsId().GetMountpoint()
	}
	return out, nil
}

// Same reports whether two paths are on the same file system; paths that cannot be read are not.
func (*Stats) Same(a, b string) bool {
	var one, other unix.Stat_t
	return unix.Stat(a, &one) == nil && unix.Stat(b, &other) == nil && one.Dev == other.Dev
}

// Pods returns the usage of the pods. For pods that fresh picks, by UID, walks of directories are at most ten seconds old, as far as walks
// are not a burden; nil picks none.
func (s *Stats) Pods(ctx context.Context, fresh func(uid string) bool) ([]statsapi.PodStats, error) {
	ctx, cancel := context.WithTimeout(ctx, summaryLimit)
	defer cancel()
	now := time.Now()
	return s.pods(ctx, s.runtimeFS(ctx, now).ImageFs, false, fresh, now)
}
