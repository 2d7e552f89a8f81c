package server

import (
	"net/http"
	"net/url"
)

// summary responds with the resource usage of the node and its pods.
//
// Upstream: pkg/kubelet/server/stats/handler.go, handleSummary.
func (s *Server) summary(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Stats == nil {
		fail(w, http.StatusNotFound, "no statistics are kept")
		return
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		fail(w, http.StatusInternalServerError, "parse form failed: "+err.Error())
		return
	}
	only := query["only_cpu_and_memory"]
	brief := len(only) == 1 && only[0] == "true"
	got, err := s.cfg.Stats.Summary(r.Context(), brief)
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	marshal(w, got)
}
