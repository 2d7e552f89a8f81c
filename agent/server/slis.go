package server

import (
	"fmt"
	"net/http"
	"strings"
)

// slis answers with each health check as a metric.
//
// Upstream: k8s.io/component-base/metrics/prometheus/slis.
func (s *Server) slis(w http.ResponseWriter, _ *http.Request) {
	var out strings.Builder
	out.WriteString("# HELP kubernetes_healthcheck [STABLE] This metric records the result of a single healthcheck.\n# TYPE kubernetes_healthcheck gauge\n")
	for _, c := range s.checks() {
		healthy := 1
		if c.Check() != nil {
			healthy = 0
		}
		fmt.Fprintf(&out, "kubernetes_healthcheck{name=%q,type=\"healthz\"} %d\n", c.Name, healthy)
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write([]byte(out.String())) // a client that is gone needs no answer
}
