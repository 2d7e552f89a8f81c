package server

import (
	"net/http"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/exposition"
)

// slis responds with each health check as a metric.
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
	page.Answer(w, r)
}
