package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// shm is a file system in memory, and room what the labs of a run may need there.
const (
	shm  = "/dev/shm"
	room = 6 << 30
)

// place makes the directory of the run's labs: in memory, if there is room.
//
// On a disk, the order of the measurements counts. ext4 without a journal, for one, does not give out inodes that were freed within the
// last minute or more, and looks through them for each new file (fs/ext4/ialloc.c, recently_deleted): whoever starts pods after many
// were deleted pays for it. The agents always come after the floors.
func place() (string, error) {
	parent := ""
	var fs unix.Statfs_t
	if err := unix.Statfs(shm, &fs); err == nil && fs.Type == unix.TMPFS_MAGIC && fs.Bavail*uint64(fs.Bsize) >= room {
		parent = shm
	}
	return os.MkdirTemp(parent, "klb")
}
