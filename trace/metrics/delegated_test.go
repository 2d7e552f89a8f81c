package metrics

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

func TestDelegated(t *testing.T) {
	s, reg := newSink(t)
	s.Host("api:6443")
	for _, e := range []trace.Event{
		&trace.APICall{Verb: trace.APICreate, Resource: "tokenreviews", Code: 201},
		&trace.APICall{Verb: trace.APICreate, Resource: "tokenreviews", Err: "connection refused"},
		&trace.APICall{Verb: trace.APICreate, Resource: "subjectaccessreviews", Code: 201},
		&trace.APICall{Verb: trace.APICreate, Resource: "subjectaccessreviews", Code: 429, Attempt: 2},
		&trace.APICall{Verb: trace.APICreate, Resource: "events", Code: 201},
		&trace.ServerRequest{Server: trace.ServerHTTPS, Path: "/configz", CertificateLeft: 3 * time.Hour, Code: 200},
		&trace.ServerRequest{Server: trace.ServerHTTPS, Path: "/pods", CertificateLeft: -time.Minute, Code: 401},
		&trace.ServerRequest{Server: trace.ServerHTTPS, Path: "/pods", Code: 200},
	} {
		s.Apply(&trace.Record{Edge: trace.EdgeEnd, Dur: 600 * time.Millisecond, Event: e})
	}
	has(t, ours(t, reg),
		`apiserver_delegated_authn_request_total{code="201"} 1`,
		`apiserver_delegated_authn_request_total{code="<error>"} 1`,
		`apiserver_delegated_authn_request_duration_seconds_bucket{code="201",le="0.5"} 0`,
		`apiserver_delegated_authn_request_duration_seconds_bucket{code="201",le="0.7"} 1`,
		`apiserver_delegated_authz_request_total{code="201"} 1`,
		`apiserver_delegated_authz_request_total{code="429"} 1`,
		`rest_client_request_retries_total{code="429",host="api:6443",verb="POST"} 1`,
		`apiserver_delegated_authz_request_duration_seconds_sum{code="201"} 0.6`,
		`apiserver_client_certificate_expiration_seconds_bucket{le="0"} 1`,
		`apiserver_client_certificate_expiration_seconds_bucket{le="7200"} 1`,
		`apiserver_client_certificate_expiration_seconds_bucket{le="21600"} 2`,
		`apiserver_client_certificate_expiration_seconds_count 2`,
	)
}
