package server

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/kubeloupe/kubeloupe/trace"
)

type requestKey struct{}

// request is what is published of a request; handlers below fill it in.
func requestOf(ctx context.Context) *trace.ServerRequest {
	if r, ok := ctx.Value(requestKey{}).(*trace.ServerRequest); ok {
		return r
	}
	return &trace.ServerRequest{}
}

// traced publishes each request to h.
func (s *Server) traced(server string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := &trace.ServerRequest{Server: server, Method: r.Method, Path: r.URL.Path, From: r.RemoteAddr}
		parent := trace.FromContext(r.Context())
		if pod := s.podOfPath(r.URL.Path); !pod.IsZero() {
			parent = trace.ForPod(parent, pod)
		}
		span := trace.Begin(s.cfg.Bus, parent, *e)
		rec := &recorder{ResponseWriter: w}
		defer func() {
			e.Code, e.Bytes = rec.code, rec.bytes.Load()
			if e.Code == 0 {
				e.Code = http.StatusOK
			}
			trace.End(s.cfg.Bus, span, *e)
		}()
		ctx := trace.ContextWith(r.Context(), span)
		h.ServeHTTP(rec, r.WithContext(context.WithValue(ctx, requestKey{}, e)))
	})
}

// podOfPath names the pod that a path is about.
func (s *Server) podOfPath(path string) trace.Pod {
	parts := strings.SplitN(strings.TrimPrefix(path, "/"), "/", 4)
	if len(parts) < 3 {
		return trace.Pod{}
	}
	switch parts[0] {
	case "exec", "attach", "portForward", "run", "containerLogs", "checkpoint":
		if pod := s.pod(parts[1], parts[2]); pod != nil {
			return trace.Pod{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)}
		}
	}
	return trace.Pod{}
}

// recorder counts what is answered.
type recorder struct {
	http.ResponseWriter
	code  int
	bytes atomic.Int64
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(code int) {
	if r.code == 0 {
		r.code = code
	}
	r.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(p []byte) (int, error) {
	n, err := r.ResponseWriter.Write(p)
	r.bytes.Add(int64(n))
	return n, err
}

// Flush implements http.Flusher.
func (r *recorder) Flush() {
	_ = http.NewResponseController(r.ResponseWriter).Flush() // the next write will fail too
}

// Hijack implements http.Hijacker, which the streaming libraries look for.
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

// counted counts what is sent over a connection.
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
