//go:build !unix

package probe

import "net"

// dialer makes ordinary connections.
func dialer() *net.Dialer { return &net.Dialer{} }
