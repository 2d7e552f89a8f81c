package collector

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"

	"github.com/kubeloupe/kubeloupe/trace"
)

// stackConfig is the Collector's configuration in the example stack.
const stackConfig = "../../deploy/stack/config/collector.yaml"

// backend is where the stack's Collector sends spans: in the stack, Jaeger.
type backend struct {
	collectorpb.UnimplementedTraceServiceServer
	mu  sync.Mutex
	got []string // names of spans
}

// Export implements the service.
func (b *backend) Export(_ context.Context, req *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, rs := range req.GetResourceSpans() {
		for _, ss := range rs.GetScopeSpans() {
			for _, sp := range ss.GetSpans() {
				b.got = append(b.got, sp.GetName())
			}
		}
	}
	return &collectorpb.ExportTraceServiceResponse{}, nil
}

// TestStack has a Collector run the example stack's configuration, of which only addresses and the file's path are changed: a start is in its
// file, and at the backend.
func TestStack(t *testing.T) {
	c := newCollector(t)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b, server := &backend{}, grpc.NewServer()
	collectorpb.RegisterTraceServiceServer(server, b)
	go server.Serve(l) //nolint:errcheck // it ends with the server
	t.Cleanup(server.Stop)
	changed := filepath.Join(t.TempDir(), "changed.yaml")
	if err := os.WriteFile(changed, fmt.Appendf(nil, `
receivers: {otlp: {protocols: {grpc: {endpoint: %q}}}}
exporters:
  file: {path: %q}
  otlp_grpc/jaeger: {endpoint: %q}
`, c.addr, c.file, l.Addr().String()), 0o600); err != nil {
		t.Fatal(err)
	}
	end := c.startWith(t, stackConfig, changed)
	var web trace.TraceID
	told := c.ship(t, time.Minute, func(bus *trace.Bus) { web = start(bus, "web") }, func() {})
	if told.Sent == 0 || told.Dropped+told.Refused > 0 {
		t.Errorf("%+v", told)
	}
	end() // it writes and sends what it has
	if got := c.drawn(t, web); !strings.Contains(got, "shop/web") || !strings.Contains(got, "RunPodSandbox") {
		t.Errorf("drawn:\n%s", got)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !strings.Contains(strings.Join(b.got, " "), "pod start") || len(b.got) != int(told.Sent) {
		t.Errorf("the backend has %q, of %d sent", b.got, told.Sent)
	}
}
