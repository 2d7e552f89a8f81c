package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"
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

// request is the record of a request, which handlers complete, and its state.
type request struct {
	trace.ServerRequest
	span trace.Span
	conn *conns.Conn // nil in some tests
	// give releases the slot of a request of an unknown connection.
	give func()
	// pod is the pod in the path, or nil. It is looked up only after the caller is authorized.
	pod *v1.Pod
}

func requestOf(ctx context.Context) *request {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		return r
	}
	return &request{}
}

// unknown reports whether the connection has had no authorized request yet.
func (q *request) unknown() bool { return q.conn != nil && !q.conn.Known() }

// vouch marks the caller as authorized. It returns false if there are too many known connections.
func (q *request) vouch() bool {
	if q.conn != nil && !q.conn.Vouch() {
		return false
	}
	if q.give != nil {
		q.give()
	}
	return true
}

// holder returns who holds the request's slot: the user or, without authentication, the source address.
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

// traced publishes each request to h. Of unknown connections it publishes only some: everyone who can connect could
// evict everything else from the ring.
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
			broken := broke(bus, q, rec, recover())
			rec.end()
			if q.give != nil {
				q.give()
			}
			q.Code, q.Bytes, q.User, q.Reason = rec.code, rec.bytes.Load(), clip(q.User, maxUser), clip(q.Reason, maxReason)
			if q.Code == 0 {
				q.Code = http.StatusOK
			}
			trace.End(bus, q.span, q.ServerRequest)
			if broken != nil {
				panic(broken)
			}
		}()
		ctx := context.WithValue(trace.ContextWith(r.Context(), q.span), requestKey{}, q)
		r = r.WithContext(ctx)
		unreadBody(rec, r)
		s.admit(rec, r, h)
	})
}

// broke publishes why a handler panicked, if it did not abort the request: net/http would say it only in its log, which has the failed
// handshakes of scanners, too. It returns a panic that ends the connection.
func broke(bus *trace.Bus, q *request, rec *recorder, why any) any {
	if why == nil || why == http.ErrAbortHandler { //nolint:errorlint // it is no error of a chain
		return why
	}
	if rec.code == 0 {
		rec.code = http.StatusInternalServerError
	}
	q.Reason = fmt.Sprintf("panic: %v", why)
	stack := debug.Stack()
	trace.Point(bus, q.span, trace.Log{
		Level: trace.LevelError, Message: "the handler of a request has panicked",
		Attrs: []trace.KV{{K: "path", V: q.Path}, {K: "panic", V: clip(fmt.Sprint(why), maxReason)}, {K: "stack", V: string(stack[:min(len(stack), maxStack)])}},
	})
	return http.ErrAbortHandler
}

// admit handles a request, unless there are too many of unknown connections.
func (s *Server) admit(w *recorder, r *http.Request, h http.Handler) {
	q := requestOf(r.Context())
	if q.Server == trace.ServerHTTPS && q.unknown() {
		if q.give = s.unknown.Take(q.conn.Source()); q.give == nil {
			q.Verdict, q.Reason, w.code = trace.AccessUnauthenticated, "too many requests at once on connections that are not yet authorized", http.StatusTooManyRequests
			panic(http.ErrAbortHandler) // a response could wait for the client to read it
		}
	}
	h.ServeHTTP(w, r)
}

// unreadBody makes sure that no body is waited for. Handlers need none, but net/http would read up to 256 KiB of it
// after the response, for as long as it takes. The connection closes after the response.
func unreadBody(w *recorder, r *http.Request) {
	if r.ContentLength == 0 || r.ProtoMajor != 1 {
		return
	}
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w.ResponseWriter).SetReadDeadline(time.Now()) // fails only in tests, whose writers have no deadlines
}

// shortBody reads a body of at most limit bytes, and waits for it no longer than bodyTimeout.
func shortBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout)) // as in unreadBody
	defer func() { _ = control.SetReadDeadline(time.Now()) }()
	return io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
}

// about looks up the pod in the path, for h and for the records that follow.
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

// clip limits a text of a caller, and adds its length. It returns a copy: method and path are parts of the request
// line, which would otherwise stay in memory.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return strings.Clone(s)
	}
	return strings.ToValidUTF8(s[:limit], "") + fmt.Sprintf("… (%d bytes)", len(s))
}
