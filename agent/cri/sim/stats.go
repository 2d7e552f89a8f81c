package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// The simulated usage: a running container uses a thousandth of a core, and some MiB that differ by container; a
// sandbox sends and receives some bytes per second.
const (
	usageNanoCores = 1_000_000
	usageBytes     = 4 << 20
	usageNetwork   = 100
)

// ContainerStats returns simulated statistics of a running container.
func (s *Server) ContainerStats(ctx context.Context, r *runtimeapi.ContainerStatsRequest) (*runtimeapi.ContainerStatsResponse, error) {
	return quick(ctx, s, "ContainerStats", s.aboutContainer(r.GetContainerId()), func() (*runtimeapi.ContainerStatsResponse, error) {
		c, err := s.findContainer(r.GetContainerId())
		if err != nil {
			return nil, fmt.Errorf("failed to find container: %w", err)
		}
		if !c.running() {
			return nil, fmt.Errorf("unexpected metrics response: container is in %s state", c.state())
		}
		return &runtimeapi.ContainerStatsResponse{Stats: s.containerStats(c)}, nil
	})
}

// ListContainerStats returns simulated statistics of the containers that match the filter. For containers that do not
// run, it returns only the names, as containerd does.
func (s *Server) ListContainerStats(ctx context.Context, r *runtimeapi.ListContainerStatsRequest) (*runtimeapi.ListContainerStatsResponse, error) {
	return quick(ctx, s, "ListContainerStats", subject{}, func() (*runtimeapi.ListContainerStatsResponse, error) {
		return &runtimeapi.ListContainerStatsResponse{Stats: s.listContainerStats(r.GetFilter())}, nil
	})
}

// StreamContainerStats is ListContainerStats in several messages.
func (s *Server) StreamContainerStats(r *runtimeapi.StreamContainerStatsRequest, stream grpc.ServerStreamingServer[runtimeapi.StreamContainerStatsResponse]) error {
	list, err := quick(stream.Context(), s, "StreamContainerStats", subject{}, func() (*[]*runtimeapi.ContainerStats, error) {
		return new(s.listContainerStats(r.GetFilter())), nil
	})
	if err != nil {
		return err
	}
	for batch := range slices.Chunk(*list, streamBatch) {
		if err := stream.Send(&runtimeapi.StreamContainerStatsResponse{ContainerStats: batch}); err != nil {
			return err
		}
	}
	return nil
}

// PodSandboxStats returns simulated statistics of a ready sandbox and its containers.
func (s *Server) PodSandboxStats(ctx context.Context, r *runtimeapi.PodSandboxStatsRequest) (*runtimeapi.PodSandboxStatsResponse, error) {
	return quick(ctx, s, "PodSandboxStats", s.aboutSandbox(r.GetPodSandboxId()), func() (*runtimeapi.PodSandboxStatsResponse, error) {
		sb, err := s.findSandbox(r.GetPodSandboxId())
		if err != nil {
			return nil, fmt.Errorf("an error occurred when trying to find sandbox %s: %w", r.GetPodSandboxId(), err)
		}
		if !sb.ready() {
			return nil, status.Errorf(codes.Unavailable, "failed to decode pod sandbox metrics %s: failed to get pod sandbox stats since sandbox container %q is not in ready state: unavailable", sb.id, sb.id)
		}
		return &runtimeapi.PodSandboxStatsResponse{Stats: s.podSandboxStats(sb)}, nil
	})
}

// ListPodSandboxStats returns simulated statistics of the ready sandboxes that match the filter.
func (s *Server) ListPodSandboxStats(ctx context.Context, r *runtimeapi.ListPodSandboxStatsRequest) (*runtimeapi.ListPodSandboxStatsResponse, error) {
	return quick(ctx, s, "ListPodSandboxStats", subject{}, func() (*runtimeapi.ListPodSandboxStatsResponse, error) {
		return &runtimeapi.ListPodSandboxStatsResponse{Stats: s.listPodSandboxStats(r.GetFilter())}, nil
	})
}

// StreamPodSandboxStats is ListPodSandboxStats in several messages.
func (s *Server) StreamPodSandboxStats(r *runtimeapi.StreamPodSandboxStatsRequest, stream grpc.ServerStreamingServer[runtimeapi.StreamPodSandboxStatsResponse]) error {
	list, err := quick(stream.Context(), s, "StreamPodSandboxStats", subject{}, func() (*[]*runtimeapi.PodSandboxStats, error) {
		return new(s.listPodSandboxStats(r.GetFilter())), nil
	})
	if err != nil {
		return err
	}
	for batch := range slices.Chunk(*list, streamBatch) {
		if err := stream.Send(&runtimeapi.StreamPodSandboxStatsResponse{PodSandboxStats: batch}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) listContainerStats(f *runtimeapi.ContainerStatsFilter) []*runtimeapi.ContainerStats {
	var list []*runtimeapi.ContainerStats
	for _, c := range s.sortedContainers() {
		if s.matchesID(f.GetId(), c.id) && s.matchesID(f.GetPodSandboxId(), c.sandbox.id) &&
			hasLabels(c.config.GetLabels(), f.GetLabelSelector()) {
			list = append(list, s.containerStats(c))
		}
	}
	return list
}

func (s *Server) listPodSandboxStats(f *runtimeapi.PodSandboxStatsFilter) []*runtimeapi.PodSandboxStats {
	var list []*runtimeapi.PodSandboxStats
	for _, sb := range s.sortedSandboxes() {
		if sb.ready() && s.matchesID(f.GetId(), sb.id) && hasLabels(sb.config.GetLabels(), f.GetLabelSelector()) {
			list = append(list, s.podSandboxStats(sb))
		}
	}
	return list
}

func (s *Server) containerStats(c *container) *runtimeapi.ContainerStats {
	st := &runtimeapi.ContainerStats{
		Attributes: &runtimeapi.ContainerAttributes{
			Id: c.id, Metadata: c.config.GetMetadata(), Labels: c.config.GetLabels(), Annotations: c.config.GetAnnotations(),
		},
		WritableLayer: &runtimeapi.FilesystemUsage{
			Timestamp: now(), FsId: &runtimeapi.FilesystemIdentifier{Mountpoint: s.cfg.ImageFSPath},
			UsedBytes: &runtimeapi.UInt64Value{Value: 4096}, InodesUsed: &runtimeapi.UInt64Value{Value: 1},
		},
	}
	if !c.running() {
		return st
	}
	cpu := uint64(max(0, now()-c.startedAt)) * usageNanoCores / uint64(time.Second)
	memory := usageBytes + uint64(c.order%8)<<20
	if limit := c.resources.GetMemoryLimitInBytes(); limit > 0 {
		memory = min(memory, uint64(limit)/2)
	}
	st.Cpu, st.Memory = cpuUsage(cpu, usageNanoCores), memoryUsage(memory)
	return st
}

func (s *Server) podSandboxStats(sb *sandbox) *runtimeapi.PodSandboxStats {
	linux := &runtimeapi.LinuxPodSandboxStats{}
	var cpu, nano, memory uint64
	for _, c := range sb.sortedContainers() {
		if c.running() {
			st := s.containerStats(c)
			cpu += st.GetCpu().GetUsageCoreNanoSeconds().GetValue()
			nano += st.GetCpu().GetUsageNanoCores().GetValue()
			memory += st.GetMemory().GetWorkingSetBytes().GetValue()
			linux.Containers = append(linux.Containers, st)
		}
	}
	linux.Cpu, linux.Memory = cpuUsage(cpu, nano), memoryUsage(memory)
	if !sb.hostNetwork() {
		linux.Network = networkUsage(uint64(max(0, now()-sb.createdAt)) * usageNetwork / uint64(time.Second))
	}
	linux.Process = &runtimeapi.ProcessUsage{Timestamp: now(), ProcessCount: &runtimeapi.UInt64Value{Value: uint64(len(linux.Containers))}}
	return &runtimeapi.PodSandboxStats{
		Attributes: &runtimeapi.PodSandboxAttributes{
			Id: sb.id, Metadata: sb.config.GetMetadata(), Labels: sb.config.GetLabels(), Annotations: sb.config.GetAnnotations(),
		},
		Linux: linux,
	}
}

func networkUsage(n uint64) *runtimeapi.NetworkUsage {
	eth0 := &runtimeapi.NetworkInterfaceUsage{
		Name: "eth0", RxBytes: &runtimeapi.UInt64Value{Value: n}, RxErrors: &runtimeapi.UInt64Value{},
		TxBytes: &runtimeapi.UInt64Value{Value: n}, TxErrors: &runtimeapi.UInt64Value{},
	}
	return &runtimeapi.NetworkUsage{Timestamp: now(), DefaultInterface: eth0, Interfaces: []*runtimeapi.NetworkInterfaceUsage{eth0}}
}

func cpuUsage(total, nano uint64) *runtimeapi.CpuUsage {
	return &runtimeapi.CpuUsage{
		Timestamp:            now(),
		UsageCoreNanoSeconds: &runtimeapi.UInt64Value{Value: total},
		UsageNanoCores:       &runtimeapi.UInt64Value{Value: nano},
	}
}

func memoryUsage(n uint64) *runtimeapi.MemoryUsage {
	return &runtimeapi.MemoryUsage{
		Timestamp:       now(),
		WorkingSetBytes: &runtimeapi.UInt64Value{Value: n},
		UsageBytes:      &runtimeapi.UInt64Value{Value: n},
		RssBytes:        &runtimeapi.UInt64Value{Value: n},
		PageFaults:      &runtimeapi.UInt64Value{},
		MajorPageFaults: &runtimeapi.UInt64Value{},
	}
}
