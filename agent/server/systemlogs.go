package server

import (
	"net/http"

	"github.com/kubeloupe/kubeloupe/agent/nodelogs"
)

// installSystemLogs serves the files of the node's log directory, and answers queries for the logs of its services.
//
// Upstream: pkg/kubelet/server/server.go, InstallSystemLogHandler.
func (s *Server) installSystemLogs(mux *http.ServeMux) {
	if !s.cfg.Debug.SystemLogs {
		mux.HandleFunc("/logs/", disabled("logs endpoint is disabled."))
		return
	}
	dir := logDir(s.cfg.LogDir)
	if dir == "" {
		dir = "/var/log"
	}
	h := http.FileServer(dir)
	if s.cfg.Debug.LogQuery {
		h = nodelogs.New(nodelogs.Config{Files: dir, Program: s.cfg.Journalctl})
	}
	mux.Handle("/logs/", only(http.StripPrefix("/logs/", h), http.MethodGet))
}
