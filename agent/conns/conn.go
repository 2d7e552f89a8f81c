package conns

import (
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"time"
)

// ErrTooMuch says that a connection that is not yet known sent more than it may.
var ErrTooMuch = errors.New("more data than the limit for an unknown client")

// Conn is a connection of a [Listener].
type Conn struct {
	net.Conn
	l      *Listener
	source string

	known, certified atomic.Bool
	read             atomic.Int64

	done chan struct{}
	// Guarded by the listener's mu.
	closed    bool
	big       bool
	idleSince time.Time
}

// Done is closed when the connection is closed.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Source returns the source of the connection, as [Source] does.
func (c *Conn) Source() string { return c.source }

// Known reports whether the connection's client is known.
func (c *Conn) Known() bool { return c.known.Load() }

// Vouch marks the connection's peer as known: from then on, the amount that it sends is not limited. It returns false if there are
// too many known connections, all in use.
func (c *Conn) Vouch() bool { return c.known.Load() || c.l.vouch(c) }

// Certify says that the peer has a known certificate, but is not yet authorized.
func (c *Conn) Certify() { c.certified.Store(true) }

// Idle says whether no request is in progress, so that the data of the last one no longer needs memory.
func (c *Conn) Idle(idle bool) {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	c.idleSince = time.Time{}
	if idle {
		c.idleSince = time.Now()
		c.read.Store(0)
		c.big, c.l.large = false, without(c.l.large, c)
	}
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.known.Load() || c.l.limits.Small == 0 {
		return n, err
	}
	most := c.l.limits.LargeBytes
	if c.certified.Load() {
		most = c.l.limits.CertifiedBytes
	}
	switch total := c.read.Add(int64(n)); {
	case total > most:
		_ = c.Close() // the error has the reason
		return 0, ErrTooMuch
	case total > c.l.limits.Small:
		c.l.grow(c)
	}
	return n, err
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	c.l.drop(c)
	return c.Conn.Close()
}

// Source returns the part of an address that counts as one source: an IPv4 address, or the /64 network of an IPv6
// address, because one machine can have all its addresses.
func Source(address string) string {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return address
	}
	ip := at.Addr().Unmap().WithZone("")
	if ip.Is6() && !ip.IsLoopback() {
		if net, err := ip.Prefix(64); err == nil {
			return net.String()
		}
	}
	return ip.String()
}

// CloseWrite lets a TCP peer read the end of a response before the connection is closed.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}
