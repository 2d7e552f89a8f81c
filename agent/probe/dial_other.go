//go:build !unix

package probe

import "net"

// dialer returns an ordinary dialer.
func dialer() *net.Dialer { return &net.Dialer{} }
