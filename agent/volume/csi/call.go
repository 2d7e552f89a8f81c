package csi

import (
	"context"
	"path"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/migrate"
	"github.com/kubeloupe/kubeloupe/trace"
)

// traceUnary publishes begin and end of each call of a driver and sends the span's context with it. The content of a
// request, which may include secrets, is not published.
func traceUnary(bus *trace.Bus, driver string) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		call := trace.CSICall{Driver: driver, Method: path.Base(method), Migrated: ctx.Value(migratedKey{}) != nil}
		if r, ok := req.(interface{ GetVolumeId() string }); ok {
			call.Volume = r.GetVolumeId()
		}
		span := trace.Begin(bus, trace.FromContext(ctx), call)
		if tp := span.Traceparent(); tp != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "traceparent", tp)
		}
		err := invoke(ctx, method, req, reply, cc, opts...)
		call.Code = status.Code(err).String()
		if err != nil {
			call.Err = status.Convert(err).Message()
			call.Class = trace.Classify(call.Err)
		}
		trace.End(bus, span, call)
		return err
	}
}

type migratedKey struct{}

// withMigrated is for the calls that set up or expand a volume. If it is of a type that the driver has now, their records say so; as upstream,
// those of other calls do not.
//
// Upstream: pkg/volume/csi/csi_util.go, createCSIOperationContext.
func withMigrated(ctx context.Context, s volume.Spec) context.Context {
	if s.PV == nil || !migrate.Is(s.PV) {
		return ctx
	}
	return context.WithValue(ctx, migratedKey{}, true)
}

// within limits the time of a part of an operation. Each part has its own: a driver that stages slowly can still publish.
//
// Upstream: pkg/volume/csi/csi_attacher.go, MountDevice, UnmountDevice; csi_mounter.go, SetUpAt, TearDownAt.
func within(ctx context.Context, part func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return part(ctx)
}

// final reports whether a failed call has certainly ended, so that what it created can be removed.
//
// Upstream: pkg/volume/csi/csi_client.go, isFinalError.
func final(err error) bool {
	switch status.Code(err) {
	case codes.Canceled, codes.DeadlineExceeded, codes.Unavailable, codes.ResourceExhausted, codes.Aborted:
		return false
	}
	return true
}
