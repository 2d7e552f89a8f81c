package control

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// trusted reports whether a peer is root or this process's user.
func trusted(p peer) bool { return p.uid == 0 || p.uid == os.Geteuid() }

// hungUp reports whether the other end of a connection is closed. One that only closed its writing side is not.
func hungUp(conn *net.UnixConn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return true // closed on this side
	}
	up := true
	err = raw.Control(func(fd uintptr) {
		poll := []unix.PollFd{{Fd: int32(fd)}}
		_, err := unix.Poll(poll, 0)
		up = err != nil || poll[0].Revents&unix.POLLHUP == 0
	})
	return err != nil || !up
}
