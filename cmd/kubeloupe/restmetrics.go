package main

import (
	"context"
	"math"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	clientmetrics "k8s.io/client-go/tools/metrics"
)

// clientRequests measures the requests of client-go: its waits for the rate limit, the sizes, and the certificates of exec plugins. The
// requests themselves are in trace/metrics, each attempt.
//
// Upstream: k8s.io/component-base/metrics/prometheus/restclient/metrics.go.
type clientRequests struct {
	limited, sent, received *prometheus.HistogramVec
	rotated                 prometheus.Histogram
	expires                 atomic.Pointer[time.Time]
	// host is told the server's address.
	host func(string)
}

// measureClients registers the metrics with reg and with client-go, which has one receiver.
func measureClients(reg prometheus.Registerer, host func(string)) error {
	wait := []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60}
	vec := func(name, help string, buckets []float64) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, []string{"verb", "host"})
	}
	c := &clientRequests{host: host}
	bytes := []float64{64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216}
	c.limited = vec("rest_client_rate_limiter_duration_seconds", "Client side rate limiter latency in seconds. Broken down by verb, and host.", wait)
	c.sent = vec("rest_client_request_size_bytes", "Request size in bytes. Broken down by verb and host.", bytes)
	c.received = vec("rest_client_response_size_bytes", "Response size in bytes. Broken down by verb and host.", bytes)
	c.rotated = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "rest_client_exec_plugin_certificate_rotation_age", Help: "Seconds that the last client certificate of an exec plugin lived before it was rotated.",
		Buckets: []float64{600, 1800, 3600, 14400, 86400, 604800, 2592000, 7776000, 15552000, 31104000, 124416000},
	})
	ttl := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "rest_client_exec_plugin_ttl_seconds", Help: "Seconds until the client certificate of an exec plugin expires; negative if it has, +Inf if there is none.",
	}, func() float64 {
		if at := c.expires.Load(); at != nil {
			return time.Until(*at).Seconds()
		}
		return math.Inf(1)
	})
	for _, one := range []prometheus.Collector{c.limited, c.sent, c.received, c.rotated, ttl} {
		if err := reg.Register(one); err != nil {
			return err
		}
	}
	clientmetrics.Register(clientmetrics.RegisterOpts{
		RateLimiterLatency: (*limiterLatency)(c), RequestSize: sizes{c.sent}, ResponseSize: sizes{c.received}, ClientCertExpiry: (*expiry)(c), ClientCertRotationAge: rotation{c},
	})
	return nil
}

type limiterLatency clientRequests

// Observe implements metrics.LatencyMetric. It is called before a request is sent.
func (l *limiterLatency) Observe(_ context.Context, verb string, u url.URL, latency time.Duration) {
	l.host(u.Host)
	l.limited.WithLabelValues(verb, u.Host).Observe(latency.Seconds())
}

type sizes struct{ to *prometheus.HistogramVec }

// Observe implements metrics.SizeMetric.
func (s sizes) Observe(_ context.Context, verb, host string, size float64) {
	s.to.WithLabelValues(verb, host).Observe(size)
}

type expiry clientRequests

// Set implements metrics.ExpiryMetric.
func (e *expiry) Set(at *time.Time) { e.expires.Store(at) }

type rotation struct{ c *clientRequests }

// Observe implements metrics.DurationMetric.
func (r rotation) Observe(age time.Duration) { r.c.rotated.Observe(age.Seconds()) }
