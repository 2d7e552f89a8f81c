package ship

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
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

// renewAfter is after how many requests in a row without an answer the client connects anew: the receiver may be gone without a word, for
// example a pod behind the address of a Service. TCP would notice that after a quarter of an hour.
const renewAfter = 2

// Secure returns the configuration of TLS. It is called for each new connection of a Client, so that changed certificates are used.
type Secure func() (*tls.Config, error)

// Client sends spans over gRPC to HOST:PORT or a dns, unix or unix-abstract address. Headers and compression can be set by OpenTelemetry's
// variables (OTEL_EXPORTER_OTLP_HEADERS, OTEL_EXPORTER_OTLP_COMPRESSION). It connects when it first sends, and anew after requests that were
// not answered. It is not safe for concurrent use. Use Dial to create one.
type Client struct {
	endpoint string
	secure   Secure
	otlp     otlptrace.Client
	failed   int // requests in a row that were not answered
}

// Dial returns a client. It does not connect; the error is about the address or the certificates. Without secure, the client does as
// upstream's kubelet does: it sends without TLS, unless OpenTelemetry's variables for certificates are set.
func Dial(ctx context.Context, endpoint string, secure Secure) (*Client, error) {
	c := &Client{endpoint: endpoint, secure: secure}
	return c, c.connect(ctx)
}

// connect makes a new connection, which is not used yet.
func (c *Client) connect(ctx context.Context) error {
	opts := []otlptracegrpc.Option{
		otlptracegrpc.WithInsecure(), otlptracegrpc.WithEndpoint(c.endpoint), otlptracegrpc.WithTimeout(oneSend),
		otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig{Enabled: false}), // the sender tries again, within its own limits
		otlptracegrpc.WithDialOption(
			grpc.WithChainUnaryInterceptor(answered), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)),
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: time.Second, Multiplier: 1.6, Jitter: 0.2, MaxDelay: reconnect}, MinConnectTimeout: 5 * time.Second}),
		),
	}
	if c.secure != nil {
		config, err := c.secure()
		if err != nil {
			return fmt.Errorf("TLS to %q: %w", c.endpoint, err)
		}
		opts = append(opts, otlptracegrpc.WithTLSCredentials(credentials.NewTLS(config)))
	}
	otlp := otlptracegrpc.NewClient(opts...)
	if err := otlp.Start(ctx); err != nil {
		return fmt.Errorf("OTLP endpoint %q: %w", c.endpoint, err)
	}
	if c.otlp != nil {
		_ = c.otlp.Stop(ctx) // it failed already
	}
	c.otlp = otlp
	return nil
}

// Close closes the connection.
func (c *Client) Close(ctx context.Context) error { return c.otlp.Stop(ctx) }

// Upload implements Uploader.
func (c *Client) Upload(ctx context.Context, spans []*tracepb.ResourceSpans) Outcome {
	if c.failed >= renewAfter {
		if err := c.connect(ctx); err != nil {
			return Outcome{Err: err, Retry: true}
		}
		c.failed = 0
	}
	var out noted
	err := c.otlp.UploadTraces(context.WithValue(ctx, outcomeKey{}, &out), spans)
	if err != nil && out.Err == nil && out.Rejected == 0 && out.Why == "" { // it was not sent
		out = outcomeOf(err)
	}
	if out.unanswered {
		c.failed++
	} else {
		c.failed = 0
	}
	return out.Outcome
}

// noted is the outcome of a call, and whether nobody answered.
type noted struct {
	Outcome
	unanswered bool
}

type outcomeKey struct{}

// answered notes the outcome of a call. What the exporter returns is a sentence.
func answered(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	err := invoke(ctx, method, req, reply, cc, opts...)
	out, ok := ctx.Value(outcomeKey{}).(*noted)
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
func outcomeOf(err error) noted {
	if err == nil {
		return noted{}
	}
	s := status.Convert(err)
	out := noted{Outcome: Outcome{Err: fmt.Errorf("%s: %s", s.Code(), trace.Clip(s.Message(), maxReason))}}
	asked := false
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok {
			out.After, asked = max(info.GetRetryDelay().AsDuration(), 0), true
		}
	}
	out.Late = s.Code() == codes.DeadlineExceeded
	out.unanswered = out.Late || s.Code() == codes.Unavailable
	switch s.Code() {
	case codes.Canceled, codes.DeadlineExceeded, codes.Aborted, codes.OutOfRange, codes.Unavailable, codes.DataLoss:
		out.Retry = true
	case codes.ResourceExhausted:
		out.Retry = asked
	default:
	}
	return out
}
