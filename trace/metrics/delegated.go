package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeloupe/kubeloupe/trace"
)

// delegated has the collectors of the reviews that the API server does for the agent's server, and of its clients' certificates.
//
// Upstream: apiserver/pkg/authentication/authenticatorfactory/metrics.go, apiserver/pkg/authorization/authorizerfactory/metrics.go,
// apiserver/pkg/authentication/request/x509/x509.go.
type delegated struct {
	authn, authz         *prometheus.CounterVec
	authnTook, authzTook *prometheus.HistogramVec
	certificates         prometheus.Histogram
}

func newDelegated() delegated {
	took := []float64{.25, .5, .7, 1, 1.5, 3, 5, 10}
	const hour, day = 3600, 24 * 3600
	return delegated{
		authn:     foreignCounters("apiserver_delegated_authn_request_total", "TokenReview requests that ended, by status code.", "code"),
		authnTook: foreign("apiserver_delegated_authn_request_duration_seconds", "How long TokenReview requests took, by status code.", took, "code"),
		authz:     foreignCounters("apiserver_delegated_authz_request_total", "SubjectAccessReview requests that ended, by status code.", "code"),
		authzTook: foreign("apiserver_delegated_authz_request_duration_seconds", "How long SubjectAccessReview requests took, by status code.", took, "code"),
		certificates: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "apiserver_client_certificate_expiration_seconds", Help: "How long the client's certificate was still valid, by request.",
			Buckets: []float64{0, hour / 2, hour, 2 * hour, 6 * hour, 12 * hour, day, 2 * day, 4 * day, 7 * day, 30 * day, 90 * day, 180 * day, 360 * day},
		}),
	}
}

// review counts an attempt of a request to the API server if it is a review.
func (m *delegated) review(e *trace.APICall, code string, sec float64) {
	switch e.Resource {
	case "tokenreviews":
		m.authn.WithLabelValues(code).Inc()
		m.authnTook.WithLabelValues(code).Observe(sec)
	case "subjectaccessreviews":
		m.authz.WithLabelValues(code).Inc()
		m.authzTook.WithLabelValues(code).Observe(sec)
	}
}

// certificate counts the certificate of a request.
func (m *delegated) certificate(e *trace.ServerRequest) {
	if e.CertificateLeft != 0 {
		m.certificates.Observe(e.CertificateLeft.Seconds())
	}
}

func (m *delegated) all() []prometheus.Collector {
	return []prometheus.Collector{m.authn, m.authnTook, m.authz, m.authzTook, m.certificates}
}
