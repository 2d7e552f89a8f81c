package gc

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// StatFS measures the file system that path is on. Available is what an unprivileged
// writer could use, as upstream counts.
func StatFS(path string) (FS, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return FS{}, fmt.Errorf("statfs %s: %w", path, err)
	}
	size := int64(st.Bsize) // its type differs between systems
	return FS{Capacity: int64(st.Blocks) * size, Available: int64(st.Bavail) * size}, nil
}
