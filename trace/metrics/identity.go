package metrics

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeloupe/kubeloupe/trace"
)

// identity is who the node is.
type identity struct {
	name           *prometheus.GaugeVec
	client         certificate
	renewErrors    prometheus.Counter
	serving        certificate
	servingErrors  prometheus.Counter
	servingRotated prometheus.Histogram
	// signed says that the serving certificate is requested from the API server: only then are there metrics of it.
	signed *atomic.Bool
}

// certificate is a certificate that is used.
type certificate struct {
	ttl prometheus.GaugeFunc
	// expires is when it expires, in Unix nanoseconds; 0 is that there is none.
	expires *atomic.Int64
	since   time.Time // NotBefore
}

// rotationBuckets are upstream's, in seconds: from a minute to four years.
var rotationBuckets = []float64{60, 3600, 14400, 86400, 604800, 2592000, 7776000, 15552000, 31104000, 124416000}

func newCertificate(name, help string) certificate {
	expires := &atomic.Int64{}
	return certificate{expires: expires, ttl: prometheus.NewGaugeFunc(prometheus.GaugeOpts{Subsystem: "kubelet", Name: name, Help: help}, func() float64 {
		at := expires.Load()
		if at == 0 {
			return math.Inf(1)
		}
		return math.Trunc(time.Until(time.Unix(0, at)).Seconds())
	})}
}

// newIdentity returns metrics of the node's name and of its certificates.
//
// Upstream: pkg/kubelet/metrics/metrics.go, KubeletNodeName; pkg/kubelet/kubelet.go, client_ttl_seconds; pkg/kubelet/certificate/kubelet.go.
func newIdentity() identity {
	return identity{
		name:           gauges("node_name", "The node's name; the value is always 1.", "node"),
		client:         newCertificate("certificate_manager_client_ttl_seconds", "Time until the node's client certificate expires; negative if it has, +Inf if there is none."),
		renewErrors:    counter("certificate_manager_client_expiration_renew_errors", "Counter of certificate renewal errors."),
		serving:        newCertificate("certificate_manager_server_ttl_seconds", "Time until the server's certificate expires; negative if it has, +Inf if there is none."),
		servingErrors:  counter("server_expiration_renew_errors", "Counter of certificate renewal errors."),
		servingRotated: histogram("certificate_manager_server_rotation_seconds", "Histogram of the number of seconds the previous certificate lived before being rotated.", rotationBuckets),
		signed:         &atomic.Bool{},
	}
}

func (i *identity) all() []prometheus.Collector {
	return []prometheus.Collector{i.name, i.client.ttl, i.renewErrors, onceOn{i.serving.ttl, i.signed}, onceOn{i.servingErrors, i.signed}, onceOn{i.servingRotated, i.signed}}
}

// onceOn is a collector that collects nothing until on is true.
type onceOn struct {
	prometheus.Collector
	on *atomic.Bool
}

// Collect implements prometheus.Collector.
func (u onceOn) Collect(to chan<- prometheus.Metric) {
	if u.on.Load() {
		u.Collector.Collect(to)
	}
}

// named takes in the node's name.
func (i *identity) named(e *trace.Agent) {
	if e.Node != "" {
		i.name.Reset()
		i.name.WithLabelValues(e.Node).Set(1)
	}
}

// certified takes in a certificate that is used from now on.
func (i *identity) certified(r *trace.Record, e *trace.Certificate) {
	c := &i.client
	if e.Use == trace.UseServing {
		c = &i.serving
		if e.Source == trace.CertificateCSR {
			i.signed.Store(true)
		}
		if e.Cause == trace.CertificateRenewed && !c.since.IsZero() {
			i.servingRotated.Observe(time.Unix(0, r.Time).Sub(c.since).Seconds())
		}
	}
	c.since = e.NotBefore
	c.expires.Store(0)
	if !e.NotAfter.IsZero() {
		c.expires.Store(e.NotAfter.UnixNano())
	}
}

// waited counts the requests for a certificate that failed: the agent waits before it tries again.
func (i *identity) waited(r *trace.Record, e *trace.Wait) {
	if e.Target.Kind != trace.TargetCertificate || r.Edge != trace.EdgeBegin {
		return
	}
	if e.Target.Name == string(trace.UseServing) {
		i.signed.Store(true) // only such a certificate is waited for
		i.servingErrors.Inc()
		return
	}
	i.renewErrors.Inc()
}
