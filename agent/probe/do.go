package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/probe/httpget"
	"github.com/kubeloupe/kubeloupe/trace"
)

// maxOutput limits how many bytes of a response or a command's output are kept.
const maxOutput = 10 << 10

// userAgent is the user agent that HTTP and gRPC servers see.
const userAgent = "kube-probe/1.37"

func how(p *v1.Probe) trace.ProbeHow {
	switch {
	case p.Exec != nil:
		return trace.ProbeExec
	case p.HTTPGet != nil:
		return trace.ProbeHTTP
	case p.TCPSocket != nil:
		return trace.ProbeTCP
	case p.GRPC != nil:
		return trace.ProbeGRPC
	}
	return ""
}

// do makes an attempt once.
func (p *Prober) do(ctx context.Context, a *attempt) outcome {
	o := p.try(ctx, a)
	o.timedOut = o.timedOut || isTimeout(o.err)
	return o.short()
}

// isTimeout reports whether an error is a timeout.
func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() || status.Code(err) == codes.DeadlineExceeded
}

// Upstream: pkg/kubelet/prober/prober.go, runProbe.
func (p *Prober) try(ctx context.Context, a *attempt) outcome {
	switch {
	case a.probe.Exec != nil:
		return p.exec(ctx, a)
	case a.probe.HTTPGet != nil:
		return p.get(ctx, a)
	case a.probe.TCPSocket != nil:
		return p.connect(ctx, a)
	case a.probe.GRPC != nil:
		return p.check(ctx, a)
	}
	return outcome{err: fmt.Errorf("missing probe handler for %s_%s(%s):%s", a.pod.Name, a.pod.Namespace, a.pod.UID, a.container.Name)}
}

// connect succeeds if a connection can be opened.
//
// Upstream: pkg/probe/tcp/tcp.go.
func (p *Prober) connect(ctx context.Context, a *attempt) outcome {
	port, err := httpget.Port(a.probe.TCPSocket.Port, a.container)
	if err != nil {
		return outcome{err: err}
	}
	host := a.probe.TCPSocket.Host
	if host == "" {
		host = p.podIP(a.pod)
	}
	d := dialer()
	d.Timeout = a.timeout
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return outcome{output: err.Error(), timedOut: isTimeout(err), answer: answerOf(err)}
	}
	_ = conn.Close()
	return success("")
}
