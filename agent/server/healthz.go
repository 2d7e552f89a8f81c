package server

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// health serves /healthz and each check by its name.
//
// Upstream: k8s.io/apiserver/pkg/server/healthz/healthz.go.
func (s *Server) health() http.Handler {
	mux := http.NewServeMux()
	s.installHealth(mux)
	return mux
}

func (s *Server) checks() []Check {
	well := func() error { return nil }
	return append([]Check{{Name: "ping", Check: well}, {Name: "log", Check: well}}, s.cfg.Checks...)
}

func (s *Server) installHealth(mux *http.ServeMux) {
	checks := s.checks()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, r *http.Request) { answer(w, r, checks) })
	for _, c := range checks {
		mux.HandleFunc("/healthz/"+c.Name, func(w http.ResponseWriter, _ *http.Request) {
			if err := c.Check(); err != nil {
				http.Error(w, "internal server error: "+err.Error(), http.StatusInternalServerError)
				return
			}
			text(w, "ok")
		})
	}
}

// answer runs the checks, except those in ?exclude=.
func answer(w http.ResponseWriter, r *http.Request, checks []Check) {
	exclude := r.URL.Query()["exclude"]
	_, verbose := r.URL.Query()["verbose"]
	var out strings.Builder
	failed := false
	for _, c := range checks {
		if slices.Contains(exclude, c.Name) {
			fmt.Fprintf(&out, "[+]%s excluded: ok\n", c.Name)
			continue
		}
		if err := c.Check(); err != nil {
			failed = true
			fmt.Fprintf(&out, "[-]%s failed: %v\n", c.Name, err)
			continue
		}
		fmt.Fprintf(&out, "[+]%s ok\n", c.Name)
	}
	switch {
	case failed:
		http.Error(w, out.String()+"healthz check failed", http.StatusInternalServerError)
	case verbose:
		text(w, out.String()+"healthz check passed\n")
	default:
		text(w, "ok")
	}
}

func text(w http.ResponseWriter, s string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write([]byte(s)) // a client that is gone needs no response
}
