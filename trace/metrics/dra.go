package metrics

import (
	"cmp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeloupe/kubeloupe/trace"
)

// anyDriver is the label of the number of claims, whatever their drivers.
const anyDriver = "<any>"

// maxClaims limits how many claims are counted.
const maxClaims = 16384

// draPackage is where gRPC has the services of DRA drivers: their full names, which upstream's metric has, begin with it. A driver registers
// with the names without it.
const draPackage = "/k8s.io.kubelet.pkg.apis.dra."

func draHistograms(name, help string, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Subsystem: "dra", Name: name, Help: help, Buckets: draBuckets}, labels)
}

func draGauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Subsystem: "dra", Name: name, Help: help}, labels)
}

func draCounters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: "dra", Name: name, Help: help}, labels)
}

// claim counts calls of DRA drivers, and those that were not needed. Upstream: pkg/kubelet/cm/dra.
func (s *Sink) claim(e *trace.ResourceClaim) {
	driver := s.drivers.label(e.Driver)
	if e.Batch > 0 && e.Method != "" {
		s.draCalls.WithLabelValues(driver, draPackage+e.Method, s.codes.label(cmp.Or(e.Code, "OK"))).Observe(e.Took.Seconds())
	}
	switch {
	case e.Op != trace.ClaimSkipped:
	case e.Method == "NodePrepareResources":
		s.prepareSkips.WithLabelValues(driver).Inc()
	case e.Method == "NodeUnprepareResources":
		s.unprepareSkips.WithLabelValues(driver).Inc()
	}
}

// claimsOf are the claims that are in use.
type claimsOf struct {
	by    map[claimKey][]string // their drivers
	count map[string]int        // claims of a driver
}

type claimKey struct{ namespace, name string }

func newClaimsOf() claimsOf { return claimsOf{map[claimKey][]string{}, map[string]int{}} }

// inUse counts claims that all their drivers have prepared, until they are unprepared. A driver that has none any more has no line.
//
// Upstream: pkg/kubelet/cm/dra/claiminfo.go, claimsInUse.
func (s *Sink) inUse(e *trace.ClaimDescribed) {
	key := claimKey{e.Namespace, e.Name}
	_, has := s.claims.by[key]
	switch e.State {
	case trace.ClaimReady:
		if !has && len(s.claims.by) >= maxClaims {
			return
		}
		var drivers []string
		for _, d := range e.Drivers {
			drivers = append(drivers, s.drivers.label(d))
		}
		slices.Sort(drivers)
		drivers = slices.Compact(drivers) // several may be "other"
		s.addClaims(s.claims.by[key], -1)
		s.addClaims(drivers, 1)
		s.claims.by[key] = drivers
	case trace.ClaimRestored, trace.ClaimPreparing, trace.ClaimFailed, trace.ClaimGone:
		s.addClaims(s.claims.by[key], -1)
		delete(s.claims.by, key)
	case trace.ClaimUnpreparing, trace.ClaimStuck: // it is in use until that succeeds
	case trace.ClaimListed: // another kubelet's
	}
	s.claimsInUse.WithLabelValues(anyDriver).Set(float64(len(s.claims.by)))
}

func (s *Sink) addClaims(drivers []string, by int) {
	for _, d := range drivers {
		if s.claims.count[d] += by; s.claims.count[d] > 0 {
			s.claimsInUse.WithLabelValues(d).Set(float64(s.claims.count[d]))
			continue
		}
		delete(s.claims.count, d)
		s.claimsInUse.DeleteLabelValues(d)
	}
}
