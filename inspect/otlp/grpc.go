package otlp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip" // senders may compress
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// exporter is the interface that the service's handler requires.
type exporter interface {
	export(body []byte) (*collector.ExportTraceServiceResponse, error)
}

// service describes opentelemetry.proto.collector.trace.v1.TraceService. The slim
// messages come without it. Requests stay bytes until decode takes them apart.
var service = grpc.ServiceDesc{
	ServiceName: "opentelemetry.proto.collector.trace.v1.TraceService",
	HandlerType: (*exporter)(nil),
	Methods:     []grpc.MethodDesc{{MethodName: "Export", Handler: handleExport}},
	Metadata:    "opentelemetry/proto/collector/trace/v1/trace_service.proto",
}

//nolint:revive // the order is gRPC's
func handleExport(srv any, _ context.Context, dec func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	var body []byte
	if err := dec(&body); err != nil {
		return nil, err
	}
	e, ok := srv.(exporter)
	if !ok {
		return nil, status.Errorf(codes.Internal, "%T takes no spans", srv)
	}
	return e.export(body)
}

// rawCodec leaves requests as bytes and encodes responses.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("encode %T: not a message", v)
	}
	b, err := proto.Marshal(m)
	return mem.BufferSlice{mem.SliceBuffer(b)}, err
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("decode %T: want bytes", v)
	}
	*b = data.Materialize()
	return nil
}

func (r *Receiver) serveGRPC(ctx context.Context, l net.Listener) error {
	s := grpc.NewServer(
		grpc.ForceServerCodecV2(rawCodec{}), grpc.MaxRecvMsgSize(maxBody), grpc.MaxSendMsgSize(maxSpan),
		grpc.MaxHeaderListSize(16<<10), grpc.ConnectionTimeout(5*time.Second),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: 10 * time.Minute, Time: 2 * time.Minute, Timeout: 20 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Minute}), grpc.MaxConcurrentStreams(maxStreams),
	)
	s.RegisterService(&service, r)
	defer context.AfterFunc(ctx, s.Stop)()
	if err := s.Serve(l); err != nil && ctx.Err() == nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("receive spans over gRPC: %w", err)
	}
	return nil
}

func (r *Receiver) export(body []byte) (*collector.ExportTraceServiceResponse, error) {
	d, err := decode(body)
	if err != nil {
		r.counts.refused.Add(1)
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	if err := r.take(d); err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	return d.response(), nil
}
