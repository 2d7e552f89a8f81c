package server

import "net/http"

// configz responds with the effective configuration.
//
// Upstream: k8s.io/component-base/configz.
func (s *Server) configz(w http.ResponseWriter, _ *http.Request) {
	if s.cfg.Configz == nil {
		fail(w, http.StatusNotFound, "no configuration is known")
		return
	}
	marshal(w, map[string]any{"kubeletconfig": s.cfg.Configz()})
}
