//go:build unix

package probe

import (
	"net"
	"syscall"
)

// dialer returns a dialer for connections whose ports are free one second after they close, not one minute. Zero would
// reset them and lose data in flight.
//
// Upstream: pkg/probe/dialer_others.go.
func dialer() *net.Dialer {
	return &net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			_ = syscall.SetsockoptLinger(int(fd), syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1, Linger: 1})
		})
	}}
}
