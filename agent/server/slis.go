package server

import (
	"net/http"
	"time"

	"github.com/prometheus/procfs"

	"github.com/kubeloupe/kubeloupe/agent/exposition"
)

// slis responds with each health check as a metric, and since when the agent has run.
//
// Upstream: k8s.io/component-base/metrics/prometheus/slis.
func (s *Server) slis(w http.ResponseWriter, r *http.Request) {
	var page exposition.Page
	page.Gauge("kubernetes_healthcheck", "[STABLE] This metric records the result of a single healthcheck.")
	for _, c := range s.checks() {
		healthy := 1.0
		if c.Check() != nil {
			healthy = 0
		}
		page.Sample(healthy, time.Time{}, "name", c.Name, "type", "healthz")
	}
	if began, err := processStart(); err == nil { // without /proc, the rest of the page is there
		page.Gauge("process_start_time_seconds", "[ALPHA] Start time of the process since unix epoch in seconds.")
		page.Sample(began, time.Time{})
	}
	page.Answer(w, r)
}

// processStart is when this process started, in seconds since the Unix epoch.
func processStart() (float64, error) {
	self, err := procfs.Self()
	if err != nil {
		return 0, err
	}
	stat, err := self.Stat()
	if err != nil {
		return 0, err
	}
	return stat.StartTime()
}
