package server

import (
	"net/http"
	"strconv"
)

// summary answers with what the node and its pods use.
//
// Upstream: pkg/kubelet/server/stats/handler.go, handleSummary.
func (s *Server) summary(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Stats == nil {
		fail(w, http.StatusNotFound, "no statistics are kept")
		return
	}
	brief := false
	if v := r.FormValue("only_cpu_and_memory"); v != "" {
		b, err := strconv.ParseBool(v)
		if err != nil {
			fail(w, http.StatusBadRequest, "parse form failed: only_cpu_and_memory must be true or false")
			return
		}
		brief = b
	}
	got, err := s.cfg.Stats.Summary(r.Context(), brief)
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	marshal(w, got)
}
