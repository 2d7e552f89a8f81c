package server

import (
	"fmt"
	"net/http"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/auth"
	"github.com/kubeloupe/kubeloupe/trace"
)

// authorized calls h for authorized callers only.
//
// Upstream: pkg/kubelet/server/server.go, InstallAuthFilter.
func (s *Server) authorized(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := requestOf(r.Context())
		if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
			q.CertificateLeft = time.Until(r.TLS.PeerCertificates[0].NotAfter)
		}
		user, err := s.cfg.Auth.Authenticate(r)
		if err != nil || user == nil {
			q.Verdict, q.Reason = trace.AccessUnauthenticated, "no credentials"
			if err != nil {
				q.Reason = err.Error()
			}
			refuse(w, q, http.StatusUnauthorized, "Unauthorized")
			return
		}
		q.User, q.How = user.Name, user.How
		verb, subresources := auth.Verb(r.Method), auth.Subresources(r.URL.Path)
		for _, sub := range subresources {
			allowed, reason, err := s.cfg.Auth.Authorize(r.Context(), user, verb, sub)
			if err != nil {
				q.Verdict, q.Reason = trace.AccessError, err.Error()
				refuse(w, q, http.StatusInternalServerError,
					fmt.Sprintf("Authorization error (user=%s, verb=%s, resource=nodes, subresource=%s)", user.Name, verb, sub))
				return
			}
			q.Reason = reason
			if allowed {
				q.Verdict = trace.AccessAllowed
				if !q.vouch() {
					refuse(w, q, http.StatusTooManyRequests, "too many connections")
					return
				}
				h.ServeHTTP(w, r)
				return
			}
		}
		q.Verdict = trace.AccessForbidden
		refuse(w, q, http.StatusForbidden, fmt.Sprintf("Forbidden (user=%s, verb=%s, resource=nodes, subresource(s)=%v)\n", user.Name, verb, subresources))
	})
}

// refuse answers a caller that is not authorized. It waits only a short time for the caller to read the answer, and
// closes an unknown connection.
func refuse(w http.ResponseWriter, q *request, code int, message string) {
	if rec, ok := w.(*recorder); ok {
		rec.timeout = refusedTimeout
	}
	if q.unknown() {
		w.Header().Set("Connection", "close")
	}
	fail(w, code, message)
}

// fail responds with a message for people, unchanged: kubectl shows it.
func fail(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(message)) // a client that is gone needs no response
}
