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
	name *prometheus.GaugeVec
	ttl  prometheus.GaugeFunc
	// expires is when the client certificate expires, in Unix nanoseconds; 0 is that there is none.
	expires *atomic.Int64
}

// newIdentity returns metrics of the node's name and of its client certificate.
//
// Upstream: pkg/kubelet/metrics/metrics.go, KubeletNodeName; pkg/kubelet/kubelet.go, client_ttl_seconds.
func newIdentity() identity {
	expires := &atomic.Int64{}
	return identity{
		name:    gauges("node_name", "The node's name; the value is always 1.", "node"),
		expires: expires,
		ttl: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Subsystem: "kubelet", Name: "certificate_manager_client_ttl_seconds",
			Help: "Time until the node's client certificate expires; negative if it has, +Inf if there is none.",
		}, func() float64 {
			at := expires.Load()
			if at == 0 {
				return math.Inf(1)
			}
			return math.Trunc(time.Until(time.Unix(0, at)).Seconds())
		}),
	}
}

func (i *identity) all() []prometheus.Collector { return []prometheus.Collector{i.name, i.ttl} }

// named takes in the node's name.
func (i *identity) named(e *trace.Agent) {
	if e.Node != "" {
		i.name.Reset()
		i.name.WithLabelValues(e.Node).Set(1)
	}
}

// certified takes in a certificate that is used from now on.
func (i *identity) certified(e *trace.Certificate) {
	if e.Use != trace.UseClient {
		return
	}
	i.expires.Store(0)
	if !e.NotAfter.IsZero() {
		i.expires.Store(e.NotAfter.UnixNano())
	}
}
