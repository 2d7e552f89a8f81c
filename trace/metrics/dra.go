package metrics

import (
	"cmp"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeloupe/kubeloupe/trace"
)

// anyDriver is the label of the number of claims, whatever their drivers.
const anyDriver = "<any>"

// maxClaims limits how many claims are counted.
const maxClaims = 16384

func draHistograms(name, help string, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Subsystem: "dra", Name: name, Help: help, Buckets: draBuckets}, labels)
}

func draGauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Subsystem: "dra", Name: name, Help: help}, labels)
}

// claim counts calls of DRA drivers and prepared claims. Upstream: pkg/kubelet/cm/dra.
func (s *Sink) claim(e *trace.ResourceClaim) {
	driver := s.drivers.label(e.Driver)
	if e.Batch > 0 && e.Method != "" {
		s.draCalls.WithLabelValues(driver, "/"+e.Method, s.codes.label(cmp.Or(e.Code, "OK"))).Observe(e.Took.Seconds())
	}
	by := s.claims[e.UID]
	switch {
	case e.Op == trace.ClaimPrepared && !by[driver]:
		if by == nil {
			if len(s.claims) >= maxClaims {
				return
			}
			by = map[string]bool{}
			s.claims[e.UID] = by
			s.claimsInUse.WithLabelValues(anyDriver).Inc()
		}
		by[driver] = true
		s.claimsInUse.WithLabelValues(driver).Inc()
	case e.Op == trace.ClaimUnprepared && by[driver]:
		s.claimsInUse.WithLabelValues(driver).Dec()
		if delete(by, driver); len(by) == 0 {
			delete(s.claims, e.UID)
			s.claimsInUse.WithLabelValues(anyDriver).Dec()
		}
	}
}
