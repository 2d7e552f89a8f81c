package stats

import (
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// The capacity of a writable layer is that of its own disk, and its time that of the runtime's figure.
func TestRootfs(t *testing.T) {
	for name, c := range map[string]struct {
		at       func(s *Stats) string
		capacity func(s *Stats) uint64 // 0 for unknown
	}{
		"of another disk": {func(*Stats) string { return "/proc" }, func(*Stats) uint64 { return 0 }},
		"of the node's":   {func(s *Stats) string { return s.cfg.RootDir }, func(s *Stats) uint64 { return *s.fsOf(s.cfg.RootDir, s.began).CapacityBytes }},
		"of no disk here": {func(s *Stats) string { return s.cfg.RootDir + "/none" }, nil},
		"it is not known": {func(*Stats) string { return "" }, func(s *Stats) uint64 { return *s.fsOf(s.cfg.RootDir, s.began).CapacityBytes }},
	} {
		t.Run(name, func(t *testing.T) {
			s, runtime := world(t)
			for _, c1 := range runtime.pods[0].Linux.Containers {
				c1.WritableLayer.FsId, c1.WritableLayer.Timestamp = &runtimeapi.FilesystemIdentifier{Mountpoint: c.at(s)}, 7e9
			}
			pods, err := s.Pods(t.Context(), nil)
			if err != nil || len(pods) != 1 {
				t.Fatal(pods, err)
			}
			fs := pods[0].Containers[0].Rootfs
			if *fs.UsedBytes != 4096 || fs.Time.Unix() != 7 {
				t.Errorf("%+v", fs)
			}
			if (c.capacity == nil) != (fs.CapacityBytes == nil) || c.capacity != nil && *fs.CapacityBytes != c.capacity(s) {
				t.Errorf("capacity %v", fs.CapacityBytes)
			}
		})
	}
}
