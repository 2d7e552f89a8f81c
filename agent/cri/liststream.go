package cri

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// maxListed limits a list that arrives in several messages, in bytes.
const maxListed = 256 << 20

type listKey struct{}

// listed reports whether a stream is a list of listStreams, which is already published.
func listed(ctx context.Context) bool { return ctx.Value(listKey{}) != nil }

// listStreams gets lists as streams of messages, so that a list may be larger than one message (maxMessage). A call that the runtime
// does not implement is not tried again: the list then comes in one message.
//
// Upstream: cri-client/pkg/remote_runtime.go, streamContainersV1 and others; KEP-5825.
func listStreams() grpc.UnaryClientInterceptor {
	var without sync.Map // methods that the runtime does not have as streams
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if _, unary := without.Load(method); unary {
			return invoke(ctx, method, req, reply, cc, opts...)
		}
		streaming, cancel := context.WithCancel(context.WithValue(ctx, listKey{}, true))
		defer cancel() // of a stream that is not read to its end
		isList, err := receiveList(streaming, cc, req, reply, opts)
		if isList && status.Code(err) == codes.Unimplemented {
			without.Store(method, true)
			isList = false
		}
		if !isList {
			return invoke(ctx, method, req, reply, cc, opts...)
		}
		return err
	}
}

// receiveList receives a list; false if the request is not for one.
func receiveList(ctx context.Context, cc *grpc.ClientConn, req, reply any, opts []grpc.CallOption) (isList bool, err error) {
	rt, images := runtimeapi.NewRuntimeServiceClient(cc), runtimeapi.NewImageServiceClient(cc)
	switch out := reply.(type) {
	case *runtimeapi.ListPodSandboxResponse:
		in, _ := req.(*runtimeapi.ListPodSandboxRequest)
		s, err := rt.StreamPodSandboxes(ctx, &runtimeapi.StreamPodSandboxesRequest{Filter: in.GetFilter()}, opts...)
		return true, collect("StreamPodSandboxes", s, err, &out.Items, (*runtimeapi.StreamPodSandboxesResponse).GetPodSandboxes)
	case *runtimeapi.ListContainersResponse:
		in, _ := req.(*runtimeapi.ListContainersRequest)
		s, err := rt.StreamContainers(ctx, &runtimeapi.StreamContainersRequest{Filter: in.GetFilter()}, opts...)
		return true, collect("StreamContainers", s, err, &out.Containers, (*runtimeapi.StreamContainersResponse).GetContainers)
	case *runtimeapi.ListContainerStatsResponse:
		in, _ := req.(*runtimeapi.ListContainerStatsRequest)
		s, err := rt.StreamContainerStats(ctx, &runtimeapi.StreamContainerStatsRequest{Filter: in.GetFilter()}, opts...)
		return true, collect("StreamContainerStats", s, err, &out.Stats, (*runtimeapi.StreamContainerStatsResponse).GetContainerStats)
	case *runtimeapi.ListPodSandboxStatsResponse:
		in, _ := req.(*runtimeapi.ListPodSandboxStatsRequest)
		s, err := rt.StreamPodSandboxStats(ctx, &runtimeapi.StreamPodSandboxStatsRequest{Filter: in.GetFilter()}, opts...)
		return true, collect("StreamPodSandboxStats", s, err, &out.Stats, (*runtimeapi.StreamPodSandboxStatsResponse).GetPodSandboxStats)
	case *runtimeapi.ListPodSandboxMetricsResponse:
		s, err := rt.StreamPodSandboxMetrics(ctx, &runtimeapi.StreamPodSandboxMetricsRequest{}, opts...)
		return true, collect("StreamPodSandboxMetrics", s, err, &out.PodMetrics, (*runtimeapi.StreamPodSandboxMetricsResponse).GetPodSandboxMetrics)
	case *runtimeapi.ListImagesResponse:
		in, _ := req.(*runtimeapi.ListImagesRequest)
		s, err := images.StreamImages(ctx, &runtimeapi.StreamImagesRequest{Filter: in.GetFilter()}, opts...)
		return true, collect("StreamImages", s, err, &out.Images, (*runtimeapi.StreamImagesResponse).GetImages)
	}
	return false, nil
}

// collect adds the items of all messages of a stream to a list, which stays empty if there is an error. The error says, beginning with the
// words of upstream's kubelet, how far the stream came.
func collect[M, I any](method string, stream grpc.ServerStreamingClient[M], err error, to *[]I, items func(*M) []I) error {
	if err != nil {
		return err
	}
	var all []I
	for size := 0; ; {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			*to = all
			return nil
		}
		if err != nil {
			why := status.Convert(err)
			return status.Errorf(why.Code(), "%s recv failed after %d items: %s", method, len(all), why.Message())
		}
		if pm, ok := any(m).(proto.Message); ok {
			size += proto.Size(pm)
		}
		if size > maxListed {
			return status.Errorf(codes.ResourceExhausted, "a list is larger than the limit of %d MiB", maxListed>>20)
		}
		all = append(all, items(m)...)
	}
}
