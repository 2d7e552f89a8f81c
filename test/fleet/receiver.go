package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"syscall"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/kubeloupe/kubeloupe/test/collector"
)

// receiver is the Collector and who is at its address instead.
type receiver struct {
	collector *collector.Collector
	addr      string // where nodes send to
	refuser   refuser
	server    *grpc.Server
	slow      *slowProxy
}

// outage is something that is wrong with the receiver for a while.
type outage struct {
	begin, end func(ctx context.Context, r *receiver) error
	// fails says that nothing can be sent meanwhile, which must be shown; for good says that what is sent is refused and not sent again.
	fails, forGood bool
}

// outages are the kinds of outages.
var outages = map[string]*outage{
	"paused": {
		begin: func(_ context.Context, r *receiver) error { return r.collector.Signal(syscall.SIGSTOP) },
		end:   func(_ context.Context, r *receiver) error { return r.collector.Signal(syscall.SIGCONT) },
		fails: true,
	},
	"stopped": {
		begin: func(_ context.Context, r *receiver) error { return r.collector.Stop() },
		end:   func(ctx context.Context, r *receiver) error { return r.collector.Start(ctx) },
		fails: true,
	},
	"slow":     {begin: beSlow, end: beFast},
	"refusing": {begin: refuse, end: accept, fails: true, forGood: true},
}

func kinds() []string { return slices.Sorted(maps.Keys(outages)) }

// refuser refuses all spans for good, as a Collector does whose memory is full, and notes what it refused.
type refuser struct {
	collectorpb.UnimplementedTraceServiceServer
	mu    sync.Mutex
	spans map[string]int  // by node
	pods  map[string]bool // whose roots were refused
}

// Export implements the service.
func (r *refuser) Export(_ context.Context, req *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rs := range req.GetResourceSpans() {
		node := valueOf(rs.GetResource().GetAttributes(), "k8s.node.name")
		for _, ss := range rs.GetScopeSpans() {
			r.spans[node] += len(ss.GetSpans())
			for _, s := range ss.GetSpans() {
				if s.GetName() == rootName {
					r.pods[valueOf(s.GetAttributes(), "k8s.pod.name")] = true
				}
			}
		}
	}
	return nil, status.Error(codes.ResourceExhausted, "the memory is full")
}

// refuse puts the refuser in the place of the Collector.
func refuse(ctx context.Context, r *receiver) error {
	if err := r.collector.Stop(); err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", r.addr)
	if err != nil {
		return err
	}
	if r.refuser.spans == nil {
		r.refuser.spans, r.refuser.pods = map[string]int{}, map[string]bool{}
	}
	var opts []grpc.ServerOption
	if c := r.collector.TLS; c.Cert != "" {
		creds, err := credentials.NewServerTLSFromFile(c.Cert, c.Key)
		if err != nil {
			return errors.Join(err, l.Close())
		}
		opts = append(opts, grpc.Creds(creds))
	}
	r.server = grpc.NewServer(opts...)
	collectorpb.RegisterTraceServiceServer(r.server, &r.refuser)
	go r.server.Serve(l) //nolint:errcheck // it ends with the server
	return nil
}

func accept(ctx context.Context, r *receiver) error {
	r.server.Stop()
	r.server = nil
	return r.collector.Start(ctx)
}

// beSlow puts a slow proxy in the place of the Collector, which listens elsewhere then.
func beSlow(ctx context.Context, r *receiver) (err error) {
	if err := r.collector.Stop(); err != nil {
		return err
	}
	if r.collector.Addr, err = collector.FreeAddress(ctx); err != nil {
		return err
	}
	if err := r.collector.Start(ctx); err != nil {
		return err
	}
	r.slow, err = newSlowProxy(ctx, r.addr, r.collector.Addr)
	return err
}

func beFast(ctx context.Context, r *receiver) error {
	err := errors.Join(r.slow.close(), r.collector.Stop())
	r.slow, r.collector.Addr = nil, r.addr
	if err != nil {
		return fmt.Errorf("end the slow proxy: %w", err)
	}
	return r.collector.Start(ctx)
}

func (r *receiver) close() (err error) {
	if r.server != nil {
		r.server.Stop()
	}
	if r.slow != nil {
		err = r.slow.close()
	}
	_ = r.collector.Signal(syscall.SIGCONT) // it may be paused, or be gone
	return errors.Join(err, r.collector.Stop())
}
