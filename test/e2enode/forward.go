package main

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// again calls do, and calls it again some time after it has returned, until ctx ends.
func again(ctx context.Context, after time.Duration, do func()) {
	for ctx.Err() == nil {
		do()
		select {
		case <-ctx.Done():
		case <-time.After(after):
		}
	}
}

// forward passes the connections that l accepts on to those that dial makes, until l is closed.
func forward(l net.Listener, dial func() (net.Conn, error)) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			out, err := dial()
			if err != nil {
				_ = in.Close()
				return
			}
			join(in, out)
		}()
	}
}

// join copies both ways until one side ends.
func join(a, b net.Conn) {
	var both sync.WaitGroup
	for _, c := range [][2]net.Conn{{a, b}, {b, a}} {
		both.Go(func() {
			_, _ = io.Copy(c[0], c[1])
			_, _ = c[0].Close(), c[1].Close()
		})
	}
	both.Wait()
}
