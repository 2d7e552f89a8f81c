package localrpc

import (
	"context"
	"strings"

	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubeloupe/kubeloupe/trace"
)

// calls limits and publishes requests.
type calls struct {
	cfg   Config
	limit *rate.Limiter
}

// Upstream: pkg/kubelet/apis/grpc/ratelimit.go.
func (c *calls) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if !c.limit.Allow() {
		return nil, status.Error(codes.ResourceExhausted, "rejected by rate limit")
	}
	ev, span := c.begin(ctx, info.FullMethod)
	res, err := handler(ctx, req)
	c.end(span, ev, err)
	return res, err
}

// stream publishes a stream; most end because the client has seen enough. The rate limit is of unary requests only; maxConns and maxStreams
// bound the streams.
//
// Upstream: pkg/kubelet/server/server.go, ListenAndServePodsServer; pkg/kubelet/apis/pods/server.go, MetricsStreamServerInterceptor.
func (c *calls) stream(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	ev, span := c.begin(s.Context(), info.FullMethod)
	err := handler(srv, s)
	if s.Context().Err() != nil {
		ev.Code = trace.CodeCanceled
		trace.End(c.cfg.Bus, span, ev)
		return nil
	}
	c.end(span, ev, err)
	return err
}

func (c *calls) begin(ctx context.Context, method string) (trace.ServerRequest, trace.Span) {
	name := method[strings.LastIndexByte(method, '/')+1:]
	ev := trace.ServerRequest{Server: c.cfg.Name, Method: name, Path: method, Verdict: trace.AccessAllowed}
	return ev, trace.Begin(c.cfg.Bus, trace.FromContext(ctx), ev)
}

func (c *calls) end(span trace.Span, ev trace.ServerRequest, err error) {
	ev.Code = httpCode(err)
	if err != nil {
		ev.Reason = err.Error()
	}
	trace.End(c.cfg.Bus, span, ev)
}

// httpCode returns the HTTP status that corresponds to an error of gRPC. An error without a code is the client's: these services have
// none of their own.
func httpCode(err error) int {
	switch status.Code(err) {
	case codes.OK:
		return 200
	case codes.NotFound:
		return 404
	case codes.FailedPrecondition:
		return 503
	case codes.Internal:
		return 500
	}
	return 400
}
