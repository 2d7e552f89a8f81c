package volume

import (
	"errors"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// seeAt inspects a path, and a name in it unless that is "". The kernel reports a mount point without a call to its
// file system. was is the ID of the mount that may be inspected further, 0 for any. Only root writes the parent. If
// there is a name to look for, only the agent writes the volume's content.
func seeAt(at, name string, was uint64) Sight {
	parent, err := unix.Open(filepath.Dir(at), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return unseen(err)
	}
	defer unix.Close(parent) //nolint:errcheck // nothing was written
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_XDEV}
	out := Sight{kind: plain}
	fd, err := unix.Openat2(parent, filepath.Base(at), &how)
	if errors.Is(err, unix.EXDEV) {
		if out.kind = mounted; name == "" {
			return out
		}
		fd, err = unix.Open(at, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return unseen(err)
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	if name == "" {
		return out
	}
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID, &st); err != nil {
		return unseen(err)
	}
	if out.id = st.Mnt_id; was == 0 || was == out.id {
		out.holds = unix.Fstatat(fd, name, new(unix.Stat_t), unix.AT_SYMLINK_NOFOLLOW) == nil
	}
	return out
}

func unseen(err error) Sight {
	if errors.Is(err, unix.ENOENT) {
		return Sight{kind: absent}
	}
	return Sight{}
}
