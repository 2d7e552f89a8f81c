package probe

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/probe/httpget"
	"github.com/kubeloupe/kubeloupe/trace"
)

// check calls a server's health service.
//
// Upstream: pkg/probe/grpc/grpc.go.
func (p *Prober) check(ctx context.Context, a *attempt) outcome {
	g := a.probe.GRPC
	transport := insecure.NewCredentials()
	if p.cfg.GRPCTLS && g.Mode != nil && *g.Mode == v1.GRPCProbeModeTLS {
		transport = credentials.NewTLS(&tls.Config{InsecureSkipVerify: true}) //nolint:gosec // a probe asks whether it answers, not who it is
	}
	addr := net.JoinHostPort(p.podIP(a.pod), strconv.Itoa(int(g.Port)))
	conn, err := grpc.NewClient("passthrough:///"+addr,
		grpc.WithUserAgent(userAgent),
		grpc.WithMaxHeaderListSize(httpget.MaxHeader), // an error's text is in a header
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxOutput)),
		grpc.WithTransportCredentials(transport),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return dialer().DialContext(ctx, "tcp", addr)
		}),
	)
	if err != nil {
		return failure(fmt.Sprintf("error: failed to connect service at %q: %+v", addr, err))
	}
	defer func() { _ = conn.Close() }()

	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	if err := connected(ctx, conn); err != nil {
		o := late(fmt.Sprintf("timeout: failed to connect service %q within %v: %+v", addr, a.timeout, err))
		o.answer = trace.AnswerUnreachable
		return o
	}
	service := ""
	if g.Service != nil {
		service = *g.Service
	}
	resp, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{Service: service})
	switch {
	case status.Code(err) == codes.Unimplemented:
		return answered(trace.AnswerRPC, "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): "+status.Convert(err).Message())
	case status.Code(err) == codes.DeadlineExceeded:
		return late(fmt.Sprintf("timeout: health rpc did not complete within %v", a.timeout))
	case err != nil:
		return answered(trace.AnswerRPC, fmt.Sprintf("error: health rpc probe failed: %+v", err))
	case resp.GetStatus() != healthpb.HealthCheckResponse_SERVING:
		return answered(trace.AnswerNotServing, fmt.Sprintf("service unhealthy (responded with %q)", resp.GetStatus().String()))
	}
	return success("service healthy")
}

// connected waits for a connection, and retries until ctx ends.
func connected(ctx context.Context, conn *grpc.ClientConn) error {
	conn.Connect()
	for {
		state := conn.GetState()
		if state == connectivity.Ready {
			return nil
		}
		if state == connectivity.Idle {
			conn.Connect()
		}
		if !conn.WaitForStateChange(ctx, state) {
			return ctx.Err()
		}
	}
}
