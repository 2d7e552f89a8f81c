package program

import (
	"errors"

	"golang.org/x/sys/unix"
)

// exits returns a channel that closes when a child process has exited. It does not reap the child: its PID is not
// reused.
func exits(pid int) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
		}
	}()
	return ended
}
