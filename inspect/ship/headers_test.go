package ship_test

import (
	"context"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc/metadata"
)

// TestHeaders: what OpenTelemetry's variable has is in each request.
func TestHeaders(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20token,x-scope-orgid=shop")
	to := newCollector(t)
	var got metadata.MD
	to.answer = func(ctx context.Context, _ *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
		got, _ = metadata.FromIncomingContext(ctx)
		return &collectorpb.ExportTraceServiceResponse{}, nil
	}
	if out := dial(t, to.addr).Upload(t.Context(), one()); out.Err != nil {
		t.Fatal(out.Err)
	}
	for name, want := range map[string]string{"authorization": "Bearer token", "x-scope-orgid": "shop"} {
		if v := got.Get(name); len(v) != 1 || v[0] != want {
			t.Errorf("%s: %q, want %q", name, v, want)
		}
	}
}
