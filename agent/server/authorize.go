package server

import (
	"fmt"
	"net/http"

	"github.com/kubeloupe/kubeloupe/agent/auth"
)

// authorized lets through who may.
//
// Upstream: pkg/kubelet/server/server.go, InstallAuthFilter.
func (s *Server) authorized(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := requestOf(r.Context())
		user, err := s.cfg.Auth.Authenticate(r)
		if err != nil || user == nil {
			e.Verdict, e.Reason = "unauthenticated", "no credentials"
			if err != nil {
				e.Reason = err.Error()
			}
			fail(w, http.StatusUnauthorized, "Unauthorized")
			return
		}
		e.User, e.How = user.Name, user.How
		verb, subresources := auth.Verb(r.Method), auth.Subresources(r.URL.Path)
		for _, sub := range subresources {
			allowed, reason, err := s.cfg.Auth.Authorize(r.Context(), user, verb, sub)
			if err != nil {
				e.Verdict, e.Reason = "error", err.Error()
				fail(w, http.StatusInternalServerError,
					fmt.Sprintf("Authorization error (user=%s, verb=%s, resource=nodes, subresource=%s)", user.Name, verb, sub))
				return
			}
			e.Reason = reason
			if allowed {
				e.Verdict = "allowed"
				h.ServeHTTP(w, r)
				return
			}
		}
		e.Verdict = "forbidden"
		fail(w, http.StatusForbidden, fmt.Sprintf("Forbidden (user=%s, verb=%s, resource=nodes, subresource(s)=%v)\n", user.Name, verb, subresources))
	})
}

// fail answers with a message for people, as it is: kubectl shows it.
func fail(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(message)) // a client that is gone needs no answer
}
