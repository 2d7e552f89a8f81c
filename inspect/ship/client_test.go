package ship_test

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/kubeloupe/kubeloupe/inspect/ship"
)

// collector is a real receiver of spans, over gRPC.
type collector struct {
	collectorpb.UnimplementedTraceServiceServer

	mu     sync.Mutex
	answer func(context.Context, *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error)
	spans  []*tracepb.Span
	got    []*tracepb.ResourceSpans
	server *grpc.Server
	addr   string
}

func (c *collector) Export(ctx context.Context, req *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	answer := c.answer
	c.mu.Unlock()
	if answer != nil {
		return answer(ctx, req)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got = append(c.got, req.GetResourceSpans()...)
	for _, rs := range req.GetResourceSpans() {
		for _, ss := range rs.GetScopeSpans() {
			c.spans = append(c.spans, ss.GetSpans()...)
		}
	}
	return &collectorpb.ExportTraceServiceResponse{}, nil
}

func (c *collector) listen(t *testing.T, addr string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	c.addr, c.server = l.Addr().String(), grpc.NewServer()
	collectorpb.RegisterTraceServiceServer(c.server, c)
	go c.server.Serve(l)
	t.Cleanup(c.server.Stop)
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.listen(t, "127.0.0.1:0")
	return c
}

func dial(t *testing.T, endpoint string) *ship.Client {
	t.Helper()
	cl, err := ship.Dial(t.Context(), endpoint, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cl.Close(context.Background()) })
	return cl
}

func one() []*tracepb.ResourceSpans {
	return []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{{Name: "one"}}}}}}
}

// TestUpload has a real server answer in every way.
func TestUpload(t *testing.T) {
	patient, err := status.New(codes.ResourceExhausted, "full").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(7 * time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	fails := func(err error) func(context.Context, *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
		return func(context.Context, *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
			return nil, err
		}
	}
	for name, c := range map[string]struct {
		answer  func(context.Context, *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error)
		want    ship.Outcome
		wantErr string
	}{
		"refuses":      {answer: fails(status.Error(codes.InvalidArgument, "no")), wantErr: "InvalidArgument: no"},
		"unauthorized": {answer: fails(status.Error(codes.Unauthenticated, "who?")), wantErr: "Unauthenticated: who?"},
		"busy":         {answer: fails(status.Error(codes.Unavailable, "busy")), want: ship.Outcome{Retry: true}, wantErr: "Unavailable: busy"},
		"full":         {answer: fails(status.Error(codes.ResourceExhausted, "full")), wantErr: "ResourceExhausted: full"},
		"full for now": {answer: fails(patient.Err()), want: ship.Outcome{Retry: true, After: 7 * time.Second}, wantErr: "ResourceExhausted: full"},
		"long words":   {answer: fails(status.Error(codes.InvalidArgument, strings.Repeat("no ", 1000))), wantErr: "InvalidArgument: no no"},
		"slow": {
			answer: func(ctx context.Context, _ *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
			want: ship.Outcome{Retry: true, Late: true}, wantErr: "DeadlineExceeded",
		},
		"takes some": {
			answer: func(context.Context, *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
				return &collectorpb.ExportTraceServiceResponse{PartialSuccess: &collectorpb.ExportTracePartialSuccess{RejectedSpans: 1, ErrorMessage: "too old"}}, nil
			},
			want: ship.Outcome{Rejected: 1, Why: "too old"},
		},
		"takes all": {},
	} {
		t.Run(name, func(t *testing.T) {
			to := newCollector(t)
			to.answer = c.answer
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if name == "slow" {
				ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer cancel()
			}
			got := dial(t, to.addr).Upload(ctx, one())
			if (got.Err == nil) != (c.wantErr == "") || got.Err != nil && (!strings.HasPrefix(got.Err.Error(), c.wantErr) || len(got.Err.Error()) > 600) {
				t.Errorf("error %v, want %q", got.Err, c.wantErr)
			}
			if got.Err = nil; got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			if name == "takes all" && len(to.spans) != 1 {
				t.Errorf("it has %d spans", len(to.spans))
			}
		})
	}
}

// TestUploadAgain stops the receiver, and starts it again at the same address.
func TestUploadAgain(t *testing.T) {
	to := newCollector(t)
	cl := dial(t, to.addr)
	if out := cl.Upload(t.Context(), one()); out.Err != nil {
		t.Fatal(out.Err)
	}
	to.server.Stop()
	if out := cl.Upload(t.Context(), one()); out.Err == nil || !out.Retry {
		t.Fatalf("while it is away: %+v", out)
	}
	to.listen(t, to.addr)
	for t.Context().Err() == nil { // as the sender does
		if out := cl.Upload(t.Context(), one()); out.Err == nil {
			break
		} else if !out.Retry {
			t.Fatal(out.Err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	if len(to.spans) != 2 {
		t.Errorf("it has %d spans, want 2", len(to.spans))
	}
}

// TestUploadGone: the receiver is gone without a word, as when a pod behind the address of a Service is replaced: its connection takes what is sent,
// and nobody answers. The client connects anew.
func TestUploadGone(t *testing.T) {
	to := newCollector(t)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var gone atomic.Bool
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			mute := !gone.Load() // this connection is the old receiver's
			out, err := new(net.Dialer).DialContext(t.Context(), "tcp", to.addr)
			if err != nil {
				return
			}
			t.Cleanup(func() { in.Close(); out.Close() })
			go io.Copy(in, out)
			go func() {
				buf := make([]byte, 4096)
				for {
					n, err := in.Read(buf)
					if err != nil {
						return
					}
					if !mute || !gone.Load() {
						out.Write(buf[:n])
					}
				}
			}()
		}
	}()
	cl := dial(t, l.Addr().String())
	if out := cl.Upload(t.Context(), one()); out.Err != nil {
		t.Fatal(out.Err)
	}
	gone.Store(true)
	for n, limit := range []time.Duration{500 * time.Millisecond, 500 * time.Millisecond, time.Minute} {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		out := cl.Upload(ctx, one())
		cancel()
		if n < 2 && (!out.Late || !out.Retry) {
			t.Errorf("request %d to the one that is gone: %+v", n, out)
		}
		if n == 2 && out.Err != nil {
			t.Errorf("after it connected anew: %v", out.Err)
		}
	}
}

func TestDialAddresses(t *testing.T) {
	for endpoint, ok := range map[string]bool{"localhost:4317": true, "dns:///collector.tracing:4317": true, "unix:///run/otel.sock": true, "\x00": false} {
		cl, err := ship.Dial(t.Context(), endpoint, nil)
		if (err == nil) != ok {
			t.Errorf("%q: %v", endpoint, err)
		}
		if err == nil {
			if err := cl.Close(t.Context()); err != nil {
				t.Errorf("%q: close: %v", endpoint, err)
			}
		}
	}
}
