package main

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// relay passes a socket on to the runtime's and counts gRPC calls. It understands just enough HTTP/2:
// a call begins with one HEADERS frame of the client, which sends no others.
type relay struct {
	path  string
	calls atomic.Int64
	to    string
	l     net.Listener
	mu    sync.Mutex
	conns []net.Conn
}

func newRelay(ctx context.Context, path, to string) (*relay, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	r := &relay{path: path, to: to, l: l}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go r.serve(ctx, client)
		}
	}()
	return r, nil
}

func (r *relay) serve(ctx context.Context, client net.Conn) {
	server, err := (&net.Dialer{}).DialContext(ctx, "unix", r.to)
	if err != nil {
		_ = client.Close()
		return
	}
	r.mu.Lock()
	r.conns = append(r.conns, client, server)
	r.mu.Unlock()
	go func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	}()
	_ = r.count(server, client)
	_ = server.Close()
}

// The sizes and the type in RFC 9113, sections 3.4 and 4.1.
const (
	prefaceSize     = 24
	frameHeaderSize = 9
	frameHeaders    = 1
)

func (r *relay) count(server io.Writer, client io.Reader) error {
	if _, err := io.CopyN(server, client, prefaceSize); err != nil {
		return err
	}
	var frame []byte
	for {
		head := make([]byte, frameHeaderSize)
		if _, err := io.ReadFull(client, head); err != nil {
			return err
		}
		size := int(binary.BigEndian.Uint32(append([]byte{0}, head[:3]...)))
		frame = append(frame[:0], head...)
		frame = append(frame, make([]byte, size)...)
		if _, err := io.ReadFull(client, frame[frameHeaderSize:]); err != nil {
			return err
		}
		if head[3] == frameHeaders {
			r.calls.Add(1)
		}
		if _, err := server.Write(frame); err != nil {
			return err
		}
	}
}

func (r *relay) close() {
	errs := []error{r.l.Close()}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		errs = append(errs, c.Close())
	}
	_ = errors.Join(errs...)
}
