package server

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// overHTTP2 serves the HTTP/2 connections of from, with separate limits: in HTTP/2, headers of a few bytes can be
// megabytes in memory, a hundred times on one connection.
func overHTTP2(from *http.Server, l net.Listener) serve {
	h := &handover{addr: l.Addr(), conns: make(chan net.Conn), done: make(chan struct{})}
	server := &http.Server{
		Handler: from.Handler, MaxHeaderBytes: maxHTTP2HeaderBytes, IdleTimeout: from.IdleTimeout, ReadHeaderTimeout: from.ReadHeaderTimeout,
		// If headers are too long, net/http responds itself, within this timeout. For other requests, traced removes
		// it.
		WriteTimeout: refusedTimeout,
		ConnContext:  from.ConnContext, ConnState: from.ConnState, ErrorLog: from.ErrorLog,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxConcurrentStreams, MaxReadFrameSize: maxFrame,
			SendPingTimeout: pingAfter, PingTimeout: pingTimeout, WriteByteTimeout: writeTimeout,
		},
	}
	from.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){"h2": h.take}
	return serve{h, server}
}

// handover is a listener for connections that another server accepted. That server owns them until they are closed.
type handover struct {
	addr  net.Addr
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (h *handover) take(_ *http.Server, c *tls.Conn, _ http.Handler) {
	conn := connOf(c)
	if conn == nil {
		return
	}
	select {
	case h.conns <- c:
		<-conn.Done()
	case <-conn.Done():
	case <-h.done:
	}
}

// Accept implements net.Listener.
func (h *handover) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (h *handover) Close() error {
	h.once.Do(func() { close(h.done) })
	return nil
}

// Addr implements net.Listener.
func (h *handover) Addr() net.Addr { return h.addr }
