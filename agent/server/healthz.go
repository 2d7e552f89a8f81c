package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
)

// health serves the health port, which says only that the process answers.
//
// Upstream: cmd/kubelet/app/server.go, run.
func (s *Server) health() http.Handler {
	mux := http.NewServeMux()
	s.installHealth(mux, []Check{ping()})
	return mux
}

func well() error { return nil }

func ping() Check { return Check{Name: "ping", Check: well} }

func (s *Server) checks() []Check {
	return append([]Check{ping(), {Name: "log", Check: well}}, s.cfg.Checks...)
}

// installHealth serves /healthz and each check by its name.
//
// Upstream: k8s.io/apiserver/pkg/server/healthz/healthz.go.
func (s *Server) installHealth(mux *http.ServeMux, checks []Check) {
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, checks) })
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

// answer runs the checks, except those in ?exclude=. Anyone may ask on the read-only port, so errors are only in /healthz/NAME, and in the
// trace.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, checks []Check) {
	exclude := unique(r.URL.Query()["exclude"])
	_, verbose := r.URL.Query()["verbose"]
	var out strings.Builder
	failed := false
	for _, c := range checks {
		if i, found := slices.BinarySearch(exclude, c.Name); found {
			exclude = slices.Delete(exclude, i, i+1)
			fmt.Fprintf(&out, "[+]%s excluded: ok\n", c.Name)
			continue
		}
		err := c.Check()
		s.noteHealth(r.Context(), c.Name, err)
		if err != nil {
			failed = true
			fmt.Fprintf(&out, "[-]%s failed: reason withheld\n", c.Name)
			continue
		}
		fmt.Fprintf(&out, "[+]%s ok\n", c.Name)
	}
	if len(exclude) > 0 {
		fmt.Fprintf(&out, "warn: some health checks cannot be excluded: no matches for %s\n", quoted(exclude))
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

// noteHealth publishes the error of a check when it changes.
func (s *Server) noteHealth(ctx context.Context, name string, err error) {
	reason := ""
	if err != nil {
		reason = err.Error()
	}
	s.mu.Lock()
	changed := s.unhealthy[name] != reason
	s.unhealthy[name] = reason
	s.mu.Unlock()
	if changed && err != nil {
		trace.Point(s.cfg.Bus, trace.FromContext(ctx), trace.Log{Level: trace.LevelWarn, Message: "healthz check failed", Attrs: []trace.KV{{K: name, V: reason}}})
	}
}

// unique returns the names sorted, each once.
func unique(names []string) []string {
	names = slices.Clone(names)
	slices.Sort(names)
	return slices.Compact(names)
}

func quoted(names []string) string {
	out := make([]string, 0, len(names))
	for _, n := range names {
		out = append(out, strconv.Quote(n))
	}
	return strings.Join(out, ",")
}

func text(w http.ResponseWriter, s string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write([]byte(s)) // a client that is gone needs no response
}
