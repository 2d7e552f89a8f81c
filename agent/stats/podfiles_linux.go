package stats

import (
	"os"

	"golang.org/x/sys/unix"
)

// maxFiles is how many names of a pod's log directory are looked at: only root and the runtime create them.
const maxFiles = 4096

// fileUsage returns what a regular file has on its disk. It follows no link.
func fileUsage(path string) held { return regular(unix.AT_FDCWD, path) }

// filesIn returns what the regular files directly in dir have on its disk. It follows no link.
func filesIn(dir string) (h held) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return h
	}
	top := os.NewFile(uintptr(fd), dir)
	defer func() { _ = top.Close() }() // nothing was written
	for seen := 0; seen < maxFiles; {
		names, err := top.Readdirnames(namesAtOnce)
		for _, name := range names {
			h.add(regular(fd, name))
		}
		if seen += len(names); err != nil || len(names) == 0 {
			break
		}
	}
	return h
}

// regular returns the disk usage of a name below the directory fd; nothing if it is not a regular file.
func regular(fd int, name string) held {
	var st unix.Statx_t
	if statx(fd, name, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return held{}
	}
	return held{bytes: st.Blocks * 512, inodes: 1}
}
