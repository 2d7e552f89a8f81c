package server

import (
	"net/http"

	"github.com/kubeloupe/kubeloupe/agent/conns"
)

// readOnly serves what needs no authorization where there is none.
//
// Upstream: pkg/kubelet/server/server.go, InstallAuthNotRequiredHandlers.
func (s *Server) readOnly() *http.ServeMux {
	mux := http.NewServeMux()
	s.installHealth(mux)
	mux.HandleFunc("GET /pods", s.pods)
	mux.HandleFunc("GET /pods/{$}", s.pods)
	mux.HandleFunc("/stats/summary", s.summary)
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
	return within(share, share, s.readOnly())
}

// secure serves everything.
func (s *Server) secure() http.Handler {
	mux := s.readOnly()
	if s.cfg.Debug.Handlers {
		s.installDebug(mux)
	} else {
		for _, p := range []string{"/run/", "/exec/", "/attach/", "/portForward/", "/containerLogs/", "/runningpods/", "/debug/pprof/", "/logs/"} {
			mux.HandleFunc(p, disabled("Debug endpoints are disabled."))
		}
	}
	return s.authorized(within(s.streams, s.answers, mux))
}

// installDebug adds what enableDebuggingHandlers turns off.
//
// Upstream: InstallAuthRequiredHandlers, InstallSystemLogHandler, InstallProfilingHandler.
func (s *Server) installDebug(mux *http.ServeMux) {
	const container, containerUID = "/{namespace}/{pod}/{container}", "/{namespace}/{pod}/{uid}/{container}"
	mux.HandleFunc("POST /run"+container, s.about(s.run))
	mux.HandleFunc("POST /run"+containerUID, s.about(s.run))
	for _, method := range []string{"GET ", "POST "} {
		mux.HandleFunc(method+"/exec"+container, s.about(s.exec))
		mux.HandleFunc(method+"/exec"+containerUID, s.about(s.exec))
		mux.HandleFunc(method+"/attach"+container, s.about(s.attach))
		mux.HandleFunc(method+"/attach"+containerUID, s.about(s.attach))
		mux.HandleFunc(method+"/portForward/{namespace}/{pod}", s.about(s.portForward))
		mux.HandleFunc(method+"/portForward/{namespace}/{pod}/{uid}", s.about(s.portForward))
	}
	mux.HandleFunc("GET /containerLogs"+container, s.about(s.containerLogs))
	mux.HandleFunc("GET /runningpods", s.runningPods)
	mux.HandleFunc("GET /runningpods/{$}", s.runningPods)
	mux.HandleFunc("GET /configz", s.configz)
	mux.HandleFunc("GET /statusz", s.statusz)
	mux.HandleFunc("GET /flagz", s.flagz)
	if s.cfg.Checkpoints != "" {
		mux.HandleFunc("POST /checkpoint"+container, s.about(s.checkpoint))
	}
	s.installSystemLogs(mux)
	s.installProfiling(mux)
	s.installFlags(mux)
}

// disabled answers as upstream does where something is turned off.
func disabled(message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, message, http.StatusMethodNotAllowed) }
}
