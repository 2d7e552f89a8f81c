package gc

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// StatFS measures the file system of path. Available is the space for an unprivileged user, as in upstream.
func StatFS(path string) (FS, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return FS{}, fmt.Errorf("statfs %s: %w", path, err)
	}
	size := int64(st.Bsize) // its type differs between systems
	return FS{Capacity: int64(st.Blocks) * size, Available: int64(st.Bavail) * size}, nil
}
