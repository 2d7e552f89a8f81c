package server

import (
	"bufio"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// recorder counts the bytes of a response. On a port with streams, it also makes sure that a client that does not read
// does not block: each write has a deadline, the whole response has none.
type recorder struct {
	http.ResponseWriter
	slow, http2 bool
	timeout     time.Duration
	code        int
	bytes       atomic.Int64
}

// Unwrap implements the interface of http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(code int) {
	if r.code == 0 {
		r.code = code
	}
	r.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(p []byte) (n int, err error) {
	for {
		r.begin()
		wrote, err := r.ResponseWriter.Write(p[n:min(len(p), n+writeChunk)])
		n += wrote
		r.bytes.Add(int64(wrote))
		if err != nil || n >= len(p) {
			r.pause()
			return n, err
		}
	}
}

// Flush implements http.Flusher.
func (r *recorder) Flush() {
	r.begin()
	_ = http.NewResponseController(r.ResponseWriter).Flush() // the next write will fail too
	r.pause()
}

// Hijack implements http.Hijacker, which the streaming libraries use.
func (r *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(r.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	if r.code == 0 {
		r.code = http.StatusSwitchingProtocols
	}
	return &counted{conn, &r.bytes}, rw, nil
}

func (r *recorder) begin() { r.deadline(time.Now().Add(r.timeout)) }

// pause removes the deadline while nothing is written. With HTTP/1, a deadline only affects writes.
func (r *recorder) pause() {
	if r.http2 {
		r.deadline(time.Time{})
	}
}

// end sets the deadline for what remains to be sent when the handler returns.
func (r *recorder) end() {
	if r.code != http.StatusSwitchingProtocols {
		r.begin()
	}
}

func (r *recorder) deadline(at time.Time) {
	if r.slow {
		_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(at) // a client that is gone needs none
	}
}

// counted counts the bytes that are sent over a connection.
type counted struct {
	net.Conn
	sent *atomic.Int64
}

// Write implements net.Conn.
func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.sent.Add(int64(n))
	return n, err
}
