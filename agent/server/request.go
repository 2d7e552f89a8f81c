package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/conns"
	"github.com/kubeloupe/kubeloupe/trace"
)

type (
	requestKey struct{}
	connKey    struct{}
)

// request is what is published of a request, which handlers fill in, and what they know of it.
type request struct {
	trace.ServerRequest
	span trace.Span
	conn *conns.Conn // nil where a test has none
	// give returns the place of a request of an unknown connection.
	give func()
	// pod is what the path names, or nil. Nobody looks for it before it is known that the caller may ask.
	pod *v1.Pod
}

func requestOf(ctx context.Context) *request {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		return r
	}
	return &request{}
}

// unknown reports whether nothing was allowed on the connection yet.
func (q *request) unknown() bool { return q.conn != nil && !q.conn.Known() }

// vouch says that the caller may ask what it asks. It returns false if too many may and do.
func (q *request) vouch() bool {
	if q.conn != nil && !q.conn.Vouch() {
		return false
	}
	if q.give != nil {
		q.give()
	}
	return true
}

// holder is whose places a request takes: the user's, or where nobody is asked who they are the source's.
func (q *request) holder() string {
	if q.User != "" || q.conn == nil {
		return q.User
	}
	return q.conn.Source()
}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, connOf(c))
}

func noteState(c net.Conn, state http.ConnState) {
	switch conn := connOf(c); {
	case conn == nil:
	case state == http.StateActive, state == http.StateIdle:
		conn.Idle(state == http.StateIdle)
	}
}

func connOf(c net.Conn) *conns.Conn {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	conn, _ := c.(*conns.Conn)
	return conn
}

// traced publishes each request to h. Of unknown connections only some are: whoever reaches the port could push
// everything else out of the ring.
func (s *Server) traced(server trace.ServerName, h http.Handler) http.Handler {
	limiter := rate.NewLimiter(unknownPublished, unknownBurst)
	unpublished := new(atomic.Int64)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _ := r.Context().Value(connKey{}).(*conns.Conn)
		q := &request{conn: conn, ServerRequest: trace.ServerRequest{
			Server: server, Method: clip(r.Method, maxMethod), Path: clip(r.URL.Path, maxPath), From: r.RemoteAddr,
		}}
		bus := s.cfg.Bus
		if q.unknown() && !limiter.Allow() {
			bus = nil
			unpublished.Add(1)
		} else {
			q.Unpublished = int(unpublished.Swap(0))
		}
		rec := &recorder{ResponseWriter: w, slow: server == trace.ServerHTTPS, http2: r.ProtoMajor == 2, timeout: writeTimeout}
		rec.pause()
		q.span = trace.Begin(bus, trace.FromContext(r.Context()), q.ServerRequest)
		defer func() {
			rec.end()
			if q.give != nil {
				q.give()
			}
			q.Code, q.Bytes, q.User, q.Reason = rec.code, rec.bytes.Load(), clip(q.User, maxUser), clip(q.Reason, maxReason)
			if q.Code == 0 {
				q.Code = http.StatusOK
			}
			trace.End(bus, q.span, q.ServerRequest)
		}()
		ctx := context.WithValue(trace.ContextWith(r.Context(), q.span), requestKey{}, q)
		r = r.WithContext(ctx)
		unreadBody(rec, r)
		s.admit(rec, r, h)
	})
}

// admit handles a request, unless it is one of too many of which nobody knows yet who sends them.
func (s *Server) admit(w *recorder, r *http.Request, h http.Handler) {
	q := requestOf(r.Context())
	if q.Server == trace.ServerHTTPS && q.unknown() {
		if q.give = s.unknown.Take(q.conn.Source()); q.give == nil {
			q.Verdict, q.Reason, w.code = trace.AccessUnauthenticated, "too many requests at once on connections that are not yet authorized", http.StatusTooManyRequests
			panic(http.ErrAbortHandler) // an answer could wait for its reader
		}
	}
	h.ServeHTTP(w, r)
}

// unreadBody sees to it that nothing is waited for of a body. Handlers need none, but net/http would read up to 256 KiB of
// it after the answer, for as long as it takes to come. The connection ends with the answer.
func unreadBody(w *recorder, r *http.Request) {
	if r.ContentLength == 0 || r.ProtoMajor != 1 {
		return
	}
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w.ResponseWriter).SetReadDeadline(time.Now()) // only tests have what has no deadlines
}

// shortBody reads a body of at most limit bytes, and waits for it no longer than bodyTimeout.
func shortBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout)) // as in unreadBody
	defer func() { _ = control.SetReadDeadline(time.Now()) }()
	return io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
}

// about looks for the pod that the path names, for h, and for what is published from here on.
func (s *Server) about(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := requestOf(r.Context())
		if q.pod = s.cfg.Pod(r.PathValue("namespace"), r.PathValue("pod")); q.pod != nil {
			q.span = trace.ForPod(q.span, trace.Pod{Namespace: q.pod.Namespace, Name: q.pod.Name, UID: string(q.pod.UID)})
			r = r.WithContext(trace.ContextWith(r.Context(), q.span))
		}
		h(w, r)
	}
}

// clip shortens what a caller chose, and says how long it was. What it returns is a copy: net/http cuts the method and the path out of the
// request line, which would be kept with them.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return strings.Clone(s)
	}
	return strings.ToValidUTF8(s[:limit], "") + fmt.Sprintf("… (%d bytes)", len(s))
}
