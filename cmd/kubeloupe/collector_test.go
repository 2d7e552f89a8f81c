package main

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"

	"github.com/kubeloupe/kubeloupe/agent/wholefile"
)

// receiver is a collector of spans in this process.
type receiver struct {
	collectorpb.UnimplementedTraceServiceServer
	mu  sync.Mutex
	got []string // names of spans
}

// Export implements the service.
func (r *receiver) Export(_ context.Context, req *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rs := range req.GetResourceSpans() {
		for _, sp := range rs.GetScopeSpans()[0].GetSpans() {
			r.got = append(r.got, sp.GetName())
		}
	}
	return &collectorpb.ExportTraceServiceResponse{}, nil
}

// receivers are those of the scripts that run, by their directories.
var receivers sync.Map

// collector FILE: a collector of spans listens; its address replaces the word COLLECTOR in the file.
func collect(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: collector FILE")
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	ts.Check(err)
	r, server := &receiver{}, grpc.NewServer()
	collectorpb.RegisterTraceServiceServer(server, r)
	go server.Serve(l)
	ts.Defer(server.Stop)
	receivers.Store(ts.Getenv("WORK"), r)
	file := ts.MkAbs(args[0])
	ts.Check(wholefile.Write(file, []byte(strings.ReplaceAll(ts.ReadFile(args[0]), "COLLECTOR", l.Addr().String())), 0o644))
}

// collected NAME...: the collector has a span of each name. With !, it has none of them.
func collected(ts *testscript.TestScript, neg bool, args []string) {
	v, ok := receivers.Load(ts.Getenv("WORK"))
	r, is := v.(*receiver)
	if !ok || !is || len(args) == 0 {
		ts.Fatalf("usage: collected NAME..., after collector FILE")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range args {
		if slices.Contains(r.got, name) == neg {
			ts.Fatalf("%q: the collector has %q", name, r.got)
		}
	}
}
