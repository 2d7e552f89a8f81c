package otlp

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// listen listens on addr. It closes connections that admit refuses before it reads from them. With more than maxConns
// connections, it closes the one that has been silent for longest.
func listen(ctx context.Context, addr string, admit func(net.Conn) error) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &limited{Listener: l, admit: admit, conns: map[*heard]bool{}}, nil
}

// admit accepts root and this process's own user: other users could add spans to the waterfalls of others' pods.
func (r *Receiver) admit(c net.Conn) error {
	uid, err := peerUID(c)
	if err == nil && uid != 0 && uid != os.Geteuid() {
		err = fmt.Errorf("uid %d may not send spans: only root and uid %d may", uid, os.Geteuid())
	}
	if err != nil {
		r.counts.strangers.Add(1)
		r.notices.strangers.tell(r.bus, "the receiver of spans refused a connection: "+err.Error())
	}
	return err
}

type limited struct {
	net.Listener
	admit func(net.Conn) error
	mu    sync.Mutex
	conns map[*heard]bool
}

// Accept implements net.Listener.
func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.admit(c) != nil {
			_ = c.Close()
			continue
		}
		return l.keep(c), nil
	}
}

func (l *limited) keep(c net.Conn) net.Conn {
	h := &heard{Conn: c, of: l, since: time.Now()}
	l.mu.Lock()
	var silent *heard
	if len(l.conns) >= maxConns {
		for other := range l.conns {
			if silent == nil || other.silence() > silent.silence() {
				silent = other
			}
		}
		delete(l.conns, silent)
	}
	l.conns[h] = true
	l.mu.Unlock()
	if silent != nil {
		_ = silent.Close()
	}
	return h
}

// heard is a connection with the time of the last data from it.
type heard struct {
	net.Conn
	of    *limited
	since time.Time    // when it was accepted
	last  atomic.Int64 // how long after that, in nanoseconds
}

// silence returns the time since the last data, independent of steps of the wall clock.
func (c *heard) silence() time.Duration { return time.Since(c.since) - time.Duration(c.last.Load()) }

// Read implements net.Conn.
func (c *heard) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.last.Store(int64(time.Since(c.since)))
	}
	return n, err
}

// Close implements net.Conn.
func (c *heard) Close() error {
	c.of.mu.Lock()
	delete(c.of.conns, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}
