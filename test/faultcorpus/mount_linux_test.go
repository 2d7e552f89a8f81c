package faultcorpus_test

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// small has containerd write what it pulls to a file system of that size, until the case ends.
func (s *scene) small(size int) {
	s.t.Helper()
	dir := filepath.Join(s.Dir, "root", "io.containerd.content.v1.content", "ingest")
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			s.t.Error(err)
		}
	})
}
