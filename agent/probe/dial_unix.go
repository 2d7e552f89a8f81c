//go:build unix

package probe

import (
	"net"
	"syscall"
)

// dialer makes connections whose ports are free again a second after they were closed,
// not a minute. Zero would reset them and lose what was under way.
//
// Upstream: pkg/probe/dialer_others.go.
func dialer() *net.Dialer {
	return &net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			_ = syscall.SetsockoptLinger(int(fd), syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1, Linger: 1})
		})
	}}
}
