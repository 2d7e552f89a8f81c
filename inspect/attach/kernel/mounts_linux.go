package kernel

import (
	"bytes"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// parseMounts parses a /proc/PID/mountinfo.
func parseMounts(text []byte, filter mountinfo.FilterFunc) ([]*mountinfo.Info, error) {
	return mountinfo.GetMountsFromReader(bytes.NewReader(text), filter)
}

// table is a mount table whose changes the kernel tells of.
type table struct{ fd int }

// openTable opens a /proc/PID/mountinfo.
func openTable(name string) (*table, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return &table{fd}, nil
}

// changed reports whether the table has changed since the last call, without waiting. Upstream: mounts_poll in fs/proc_namespace.c.
func (t *table) changed() bool {
	fds := []unix.PollFd{{Fd: int32(t.fd), Events: unix.POLLPRI}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLPRI|unix.POLLERR) != 0
}

func (t *table) close() { _ = unix.Close(t.fd) }
