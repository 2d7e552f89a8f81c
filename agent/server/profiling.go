package server

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/kubeloupe/kubeloupe/agent/conns"
	"github.com/kubeloupe/kubeloupe/agent/redact"
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
	share := conns.NewShare(profiles, profiles)
	for path, h := range map[string]http.HandlerFunc{
		"": pprof.Index, "cmdline": cmdline, "profile": pprof.Profile, "symbol": pprof.Symbol, "trace": pprof.Trace,
	} {
		mux.Handle("/debug/pprof/"+path, only(profile(share, h), http.MethodGet))
	}
}

// cmdline is pprof.Cmdline without secrets.
func cmdline(w http.ResponseWriter, _ *http.Request) {
	text(w, strings.Join(redact.Args(os.Args), "\x00"))
}

// profile rejects profiles that take too long, and more than a few at once: each keeps its data in memory.
func profile(share *conns.Share, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if sec, err := strconv.ParseFloat(r.URL.Query().Get("seconds"), 64); err == nil && sec > maxProfile.Seconds() {
			fail(w, http.StatusBadRequest, fmt.Sprintf("seconds: at most %.0f", maxProfile.Seconds()))
			return
		}
		give := share.Take("")
		if give == nil {
			fail(w, http.StatusTooManyRequests, "too many profiles at once")
			return
		}
		defer give()
		h.ServeHTTP(w, r)
	})
}
