package server

import "net/http"

// installSystemLogs serves the files of the node's log directory.
//
// Upstream: pkg/kubelet/server/server.go, InstallSystemLogHandler.
func (s *Server) installSystemLogs(mux *http.ServeMux) {
	if !s.cfg.Debug.SystemLogs {
		mux.HandleFunc("/logs/", disabled("logs endpoint is disabled."))
		return
	}
	dir := s.cfg.LogDir
	if dir == "" {
		dir = "/var/log"
	}
	mux.Handle("/logs/", only(http.StripPrefix("/logs/", http.FileServer(logDir(dir))), http.MethodGet))
}
