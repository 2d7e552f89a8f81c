package cri

import (
	"context"
	"math"
	"time"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// maxSeconds is the longest duration, in seconds.
const maxSeconds = int64(math.MaxInt64 / time.Second)

// deadlines gives each call without a deadline upstream's: twice the usual for sandboxes; the usual plus the grace
// period for a stop, and plus the timeout for a command; the timeout for a checkpoint, if it is longer; none for a pull and for a command
// without a timeout. The runtime receives the deadline of a checkpoint as its timeout. Upstream: cri-client/pkg/remote_runtime.go,
// remote_image.go.
func deadlines(usual time.Duration) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		limit := usual
		switch r := req.(type) {
		case *runtimeapi.PullImageRequest:
			limit = 0
		case *runtimeapi.RunPodSandboxRequest:
			limit = 2 * usual
		case *runtimeapi.StopContainerRequest:
			limit += time.Duration(r.GetTimeout()) * time.Second
		case *runtimeapi.ExecSyncRequest:
			limit += time.Duration(r.GetTimeout()) * time.Second
			if r.GetTimeout() <= 0 {
				limit = 0 // the command has no timeout
			}
		case *runtimeapi.CheckpointContainerRequest:
			limit = max(usual, time.Duration(min(r.GetTimeout(), maxSeconds))*time.Second)
			req = &runtimeapi.CheckpointContainerRequest{ContainerId: r.GetContainerId(), Location: r.GetLocation(), Timeout: int64(limit / time.Second)}
		}
		if _, has := ctx.Deadline(); !has && limit > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, limit)
			defer cancel()
		}
		return invoke(ctx, method, req, reply, cc, opts...)
	}
}
