package ship

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubeloupe/kubeloupe/trace"
)

// reconnect is the longest pause between attempts to connect.
const reconnect = 30 * time.Second

// maxAnswer is how long an answer may be, in bytes, maxReason its message.
const (
	maxAnswer = 64 << 10
	maxReason = 512
)

// Client sends spans over gRPC, as upstream's kubelet does: without TLS, to HOST:PORT or a dns, unix or unix-abstract address. Headers and
// compression can be set by OpenTelemetry's variables (OTEL_EXPORTER_OTLP_HEADERS, OTEL_EXPORTER_OTLP_COMPRESSION). It connects when it
// first sends. Use Dial to create one.
type Client struct{ otlp otlptrace.Client }

// CheckEndpoint returns what is wrong with an address. Upstream: component-base/tracing/api/v1/config.go.
func CheckEndpoint(endpoint string) error {
	whole := endpoint
	if !strings.Contains(whole, "//") {
		whole = "dns://" + whole
	}
	u, err := url.Parse(whole)
	if err != nil || endpoint == "" || !slices.Contains([]string{"dns", "unix", "unix-abstract"}, u.Scheme) {
		return fmt.Errorf("%q must be HOST:PORT or a dns, unix or unix-abstract URL", endpoint)
	}
	return nil
}

// Dial returns a client. It does not connect; the error is about the address.
func Dial(ctx context.Context, endpoint string) (*Client, error) {
	otlp := otlptracegrpc.NewClient(
		otlptracegrpc.WithInsecure(), otlptracegrpc.WithEndpoint(endpoint), otlptracegrpc.WithTimeout(oneSend),
		otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig{Enabled: false}), // the sender tries again, within its own limits
		otlptracegrpc.WithDialOption(
			grpc.WithChainUnaryInterceptor(answered), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)),
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: time.Second, Multiplier: 1.6, Jitter: 0.2, MaxDelay: reconnect}, MinConnectTimeout: 5 * time.Second}),
		),
	)
	if err := otlp.Start(ctx); err != nil {
		return nil, fmt.Errorf("OTLP endpoint %q: %w", endpoint, err)
	}
	return &Client{otlp}, nil
}

// Close closes the connection.
func (c *Client) Close(ctx context.Context) error { return c.otlp.Stop(ctx) }

// Upload implements Uploader.
func (c *Client) Upload(ctx context.Context, spans []*tracepb.ResourceSpans) Outcome {
	var out Outcome
	err := c.otlp.UploadTraces(context.WithValue(ctx, outcomeKey{}, &out), spans)
	if err != nil && out.Err == nil && out.Rejected == 0 && out.Why == "" { // it was not sent
		out = outcomeOf(err)
	}
	return out
}

type outcomeKey struct{}

// answered notes the outcome of a call. What the exporter returns is a sentence.
func answered(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	err := invoke(ctx, method, req, reply, cc, opts...)
	out, ok := ctx.Value(outcomeKey{}).(*Outcome)
	if !ok {
		return err
	}
	*out = outcomeOf(err)
	if r, ok := reply.(*collectorpb.ExportTraceServiceResponse); ok && err == nil {
		out.Rejected, out.Why = r.GetPartialSuccess().GetRejectedSpans(), trace.Clip(r.GetPartialSuccess().GetErrorMessage(), maxReason)
	}
	return err
}

// outcomeOf says what an error means, by the protocol's list of codes that may be tried again.
// See https://opentelemetry.io/docs/specs/otlp/#failures.
func outcomeOf(err error) Outcome {
	if err == nil {
		return Outcome{}
	}
	s := status.Convert(err)
	out := Outcome{Err: fmt.Errorf("%s: %s", s.Code(), trace.Clip(s.Message(), maxReason))}
	asked := false
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok {
			out.After, asked = max(info.GetRetryDelay().AsDuration(), 0), true
		}
	}
	switch s.Code() {
	case codes.Canceled, codes.DeadlineExceeded, codes.Aborted, codes.OutOfRange, codes.Unavailable, codes.DataLoss:
		out.Retry = true
	case codes.ResourceExhausted:
		out.Retry = asked
	default:
	}
	return out
}
