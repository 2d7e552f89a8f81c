package server

import (
	"net/http"
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/agent/conns"
)

// readOnly serves what needs no authorization on the read-only port.
//
// Upstream: pkg/kubelet/server/server.go, InstallAuthNotRequiredHandlers.
func (s *Server) readOnly() *http.ServeMux {
	mux := http.NewServeMux()
	s.installHealth(mux, s.checks())
	route(mux, "/pods", inJSON(s.pods), http.MethodGet)
	mux.Handle("/stats/", exactly("/stats/summary", only(inJSON(s.summary), http.MethodGet, http.MethodPost)))
	mux.HandleFunc("/metrics/slis", s.slis)
	for path, h := range map[string]http.Handler{
		"/metrics": s.cfg.Metrics, "/metrics/resource": s.cfg.ResourceMetrics,
		"/metrics/cadvisor": s.cfg.ContainerMetrics, "/metrics/probes": s.cfg.ProbeMetrics,
	} {
		if h != nil {
			mux.Handle(path, h)
		}
	}
	return mux
}

// open serves the read-only port.
func (s *Server) open() http.Handler {
	share := conns.NewShare(openAnswers, openAnswersEach)
	mux := s.readOnly()
	installDisabled(mux)
	return within(share, share, mux)
}

// secure serves everything.
func (s *Server) secure() http.Handler {
	mux := s.readOnly()
	if s.cfg.Debug.Handlers {
		s.installDebug(mux)
	} else {
		installDisabled(mux)
	}
	return s.authorized(within(s.streams, s.answers, mux))
}

// installDisabled says of the most used debug handlers that they are disabled.
//
// Upstream: InstallDebuggingDisabledHandlers.
func installDisabled(mux *http.ServeMux) {
	for _, p := range []string{"/run/", "/exec/", "/attach/", "/portForward/", "/containerLogs/", "/runningpods/", "/debug/pprof/", "/logs/"} {
		mux.HandleFunc(p, disabled("Debug endpoints are disabled."))
	}
}

// installDebug adds the handlers that enableDebuggingHandlers disables.
//
// Upstream: InstallAuthRequiredHandlers, InstallSystemLogHandler, InstallProfilingHandler.
func (s *Server) installDebug(mux *http.ServeMux) {
	const container, containerUID = "/{namespace}/{pod}/{container}", "/{namespace}/{pod}/{uid}/{container}"
	for _, path := range []string{container, containerUID} {
		route(mux, "/run"+path, s.about(s.run), http.MethodPost)
		route(mux, "/exec"+path, s.about(s.exec), http.MethodGet, http.MethodPost)
		route(mux, "/attach"+path, s.about(s.attach), http.MethodGet, http.MethodPost)
	}
	for _, path := range []string{"/{namespace}/{pod}", "/{namespace}/{pod}/{uid}"} {
		route(mux, "/portForward"+path, s.about(s.portForward), http.MethodGet, http.MethodPost)
	}
	route(mux, "/containerLogs"+container, s.about(s.containerLogs), http.MethodGet)
	mux.Handle("/runningpods/", exactly("/runningpods", only(inJSON(s.runningPods), http.MethodGet)))
	s.installAllocated(mux)
	mux.HandleFunc("/configz", s.configz)
	s.installZPages(mux)
	if s.cfg.Checkpoints != "" {
		route(mux, "/checkpoint"+container, inJSON(s.about(s.checkpoint)), http.MethodPost)
	}
	s.installSystemLogs(mux)
	s.installProfiling(mux)
	s.installFlags(mux)
}

// route serves a path, with or without a slash at its end, for these methods only. ServeMux would also accept HEAD for
// GET.
func route(mux *http.ServeMux, path string, h http.HandlerFunc, methods ...string) {
	mux.Handle(path, only(h, methods...))
	mux.Handle(path+"/{$}", only(h, methods...))
}

func only(h http.Handler, methods ...string) http.Handler {
	allow := strings.Join(methods, ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(methods, r.Method) {
			w.Header().Set("Allow", allow)
			http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// exactly serves this path and nothing below it.
func exactly(path string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.TrimSuffix(r.URL.Path, "/") != path {
			http.NotFound(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// inJSON rejects clients that do not accept JSON.
//
// Upstream: github.com/emicklei/go-restful, Route.matchesAccept.
func inJSON(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		accept := r.Header.Get("Accept")
		ok := accept == ""
		for kind := range strings.SplitSeq(accept, ",") {
			kind, _, _ = strings.Cut(kind, ";")
			kind = strings.TrimSpace(kind)
			ok = ok || kind == "*/*" || kind == "application/json"
		}
		if !ok {
			http.Error(w, "406: Not Acceptable, available are: application/json", http.StatusNotAcceptable)
			return
		}
		h(w, r)
	}
}

// disabled responds as upstream does for a disabled handler.
func disabled(message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, message, http.StatusMethodNotAllowed) }
}
