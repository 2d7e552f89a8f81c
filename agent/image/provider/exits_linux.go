package provider

import (
	"errors"

	"golang.org/x/sys/unix"
)

// exits returns what is closed when a child of this process has ended. It is not waited for by that: its number stays its own.
func exits(pid int) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
		}
	}()
	return ended
}
