package server

import (
	"flag"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/klog/v2"
)

// installFlags serves changes of the verbosity of the Kubernetes libraries.
//
// Upstream: k8s.io/apiserver/pkg/server/routes/flags.go; k8s.io/component-base/logs, GlogSetter.
func (s *Server) installFlags(mux *http.ServeMux) {
	const path = "/debug/flags/v"
	if !s.cfg.Debug.FlagsV {
		mux.HandleFunc(path, disabled("flags endpoint is disabled."))
		return
	}
	mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPut {
			fail(w, http.StatusNotAcceptable, "unsupported http method")
			return
		}
		value, err := shortBody(w, r, 64)
		if err != nil {
			fail(w, http.StatusBadRequest, "error reading request body: "+err.Error())
			return
		}
		level := strings.TrimSpace(string(value))
		var set flag.FlagSet
		klog.InitFlags(&set)
		if err := set.Set("v", level); err != nil {
			fail(w, http.StatusBadRequest, fmt.Sprintf("failed set klog.logging.verbosity %s: %v", level, err))
			return
		}
		fail(w, http.StatusOK, "successfully set klog.logging.verbosity to "+level)
	})
}
