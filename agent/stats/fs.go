package stats

import (
	"context"
	"io/fs"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// fsOf returns the usage of the file system of path; nil if it is unknown.
func (s *Stats) fsOf(path string, now time.Time) *statsapi.FsStats {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return nil
	}
	block := uint64(st.Bsize)
	return &statsapi.FsStats{
		Time:           metav1.NewTime(now),
		CapacityBytes:  new(uint64(st.Blocks) * block),
		AvailableBytes: new(uint64(st.Bavail) * block),
		UsedBytes:      new(uint64(st.Blocks-st.Bfree) * block),
		Inodes:         new(uint64(st.Files)),
		InodesFree:     new(uint64(st.Ffree)),
		InodesUsed:     new(uint64(st.Files - st.Ffree)),
	}
}

// runtimeFS returns the usage of the runtime's file systems, with the shares of images and containers.
//
// Upstream: pkg/kubelet/stats/cri_stats_provider.go, ImageFsStats.
func (s *Stats) runtimeFS(ctx context.Context, now time.Time) *statsapi.RuntimeStats {
	out := &statsapi.RuntimeStats{}
	info, err := s.cfg.Images.ImageFsInfo(ctx, &runtimeapi.ImageFsInfoRequest{})
	if err != nil || len(info.ImageFilesystems) == 0 {
		return out
	}
	out.ImageFs = s.usedOn(info.ImageFilesystems[0], now)
	out.ContainerFs = out.ImageFs
	if len(info.ContainerFilesystems) > 0 {
		out.ContainerFs = s.usedOn(info.ContainerFilesystems[0], now)
	}
	return out
}

func (s *Stats) usedOn(u *runtimeapi.FilesystemUsage, now time.Time) *statsapi.FsStats {
	out := s.fsOf(u.GetFsId().GetMountpoint(), now)
	if out == nil {
		out = &statsapi.FsStats{Time: metav1.NewTime(now)}
	}
	out.UsedBytes, out.InodesUsed = value(u.GetUsedBytes()), value(u.GetInodesUsed())
	return out
}

func sysStat(info fs.FileInfo, err error) (*syscall.Stat_t, bool) {
	if err != nil {
		return nil, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return st, ok
}
