package main

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// slowRate is how many bytes in a second go to the Collector through a slow proxy, of each connection: a request of several starts takes longer than
// the sender waits for its answer, one start does not.
const slowRate = 4 << 10

// slowProxy passes connections on, what clients send slowly.
type slowProxy struct {
	listen net.Listener
	to     string

	mu    sync.Mutex
	conns []net.Conn
	all   sync.WaitGroup
}

func newSlowProxy(ctx context.Context, at, to string) (*slowProxy, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", at)
	if err != nil {
		return nil, err
	}
	p := &slowProxy{listen: l, to: to}
	p.all.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			p.pass(in)
		}
	})
	return p, nil
}

// pass passes a connection on.
func (p *slowProxy) pass(in net.Conn) {
	out, err := net.Dial("tcp", p.to) //nolint:noctx // the loopback device
	if err != nil {
		_ = in.Close()
		return
	}
	p.mu.Lock()
	p.conns = append(p.conns, in, out)
	p.mu.Unlock()
	both := func() { _, _ = in.Close(), out.Close() }
	p.all.Go(func() {
		defer both()
		for {
			if _, err := io.CopyN(out, in, slowRate/4); err != nil {
				return
			}
			time.Sleep(time.Second / 4)
		}
	})
	p.all.Go(func() {
		defer both()
		_, _ = io.Copy(in, out)
	})
}

// close ends all connections.
func (p *slowProxy) close() error {
	err := p.listen.Close()
	p.mu.Lock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.all.Wait()
	return err
}
