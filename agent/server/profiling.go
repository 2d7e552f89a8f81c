package server

import (
	"net/http"
	"net/http/pprof"
	"runtime"
)

// installProfiling serves Go's profiles.
//
// Upstream: pkg/kubelet/server/server.go, InstallProfilingHandler.
func (s *Server) installProfiling(mux *http.ServeMux) {
	if !s.cfg.Debug.Profiling {
		mux.HandleFunc("/debug/pprof/", disabled("profiling endpoint is disabled."))
		return
	}
	if s.cfg.Debug.Contention {
		runtime.SetBlockProfileRate(1)
	}
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
}
