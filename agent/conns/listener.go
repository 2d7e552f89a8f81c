package conns

import (
	"net"
	"sync"
)

// Limits are the limits of a listener's connections. Zero means no limit.
type Limits struct {
	// Unknown is the maximum number of connections whose client is not known.
	Unknown int
	// Known is the maximum number of connections whose client is known.
	Known int
	// Small is how many bytes an unknown connection may send for one request, including the TLS handshake. If it sends
	// more, it counts as one of Large connections, which may send LargeBytes, or CertifiedBytes.
	Small                      int64
	Large                      int
	LargeBytes, CertifiedBytes int64
}

// Listener accepts connections and closes some to stay within its limits. Safe for concurrent use.
type Listener struct {
	net.Listener
	limits Limits

	mu      sync.Mutex
	unknown []*Conn // oldest first, as the others
	known   []*Conn
	large   []*Conn
}

// New returns a Listener that limits the connections of l.
func New(l net.Listener, limits Limits) *Listener { return &Listener{Listener: l, limits: limits} }

// Accept implements net.Listener. If there are too many unknown connections, it closes one.
func (l *Listener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &Conn{Conn: raw, l: l, source: Source(raw.RemoteAddr().String()), done: make(chan struct{})}
	l.mu.Lock()
	l.unknown = append(l.unknown, c)
	out := victim(l.unknown, l.limits.Unknown)
	l.mu.Unlock()
	if out != nil {
		_ = out.Close() // the client gets no message
	}
	return c, nil
}

// Count returns the number of open connections of unknown clients, and of known ones.
func (l *Listener) Count() (unknown, known int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.unknown), len(l.known)
}

// victim returns the oldest connection of the source that has the most, if there are more than limit.
func victim(conns []*Conn, limit int) *Conn {
	if limit == 0 || len(conns) <= limit {
		return nil
	}
	count := map[string]int{}
	most := ""
	for _, c := range conns {
		count[c.source]++
		if count[c.source] > count[most] {
			most = c.source
		}
	}
	for _, c := range conns {
		if c.source == most {
			return c
		}
	}
	return nil
}

// grow makes c a large connection, unless it already is one, was closed, or is known by now; another large one may be
// closed for it.
func (l *Listener) grow(c *Conn) {
	l.mu.Lock()
	if c.big || c.closed || c.known.Load() {
		l.mu.Unlock()
		return
	}
	c.big = true
	l.large = append(l.large, c)
	out := victim(l.large, l.limits.Large)
	l.mu.Unlock()
	if out != nil {
		_ = out.Close() // as in Accept
	}
}

// vouch makes c known. If there are too many known ones, it closes the one that was idle longest; without an idle one,
// c stays unknown.
func (l *Listener) vouch(c *Conn) bool {
	l.mu.Lock()
	if c.closed || c.known.Load() {
		l.mu.Unlock()
		return c.known.Load()
	}
	var out *Conn
	if l.limits.Known > 0 && len(l.known) >= l.limits.Known {
		for _, k := range l.known {
			if !k.idleSince.IsZero() && (out == nil || k.idleSince.Before(out.idleSince)) {
				out = k
			}
		}
		if out == nil {
			l.mu.Unlock()
			return false
		}
	}
	c.known.Store(true)
	l.unknown, l.large = without(l.unknown, c), without(l.large, c)
	l.known = append(l.known, c)
	l.mu.Unlock()
	if out != nil {
		_ = out.Close() // it has no request
	}
	return true
}

func (l *Listener) drop(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !c.closed {
		c.closed = true
		close(c.done)
	}
	l.unknown, l.large, l.known = without(l.unknown, c), without(l.large, c), without(l.known, c)
}

func without(list []*Conn, c *Conn) []*Conn {
	for i, other := range list {
		if other == c {
			copy(list[i:], list[i+1:])
			list[len(list)-1] = nil
			return list[:len(list)-1]
		}
	}
	return list
}
