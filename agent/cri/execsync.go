package cri

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	// answersAtOnce is how many responses to ExecSync are received at a time. The author of the container determines
	// the output: up to 16 MiB (maxMessage) each, from any number of probes at once.
	answersAtOnce = 1
	// answerTime is how long the runtime may take to send a response that it has begun.
	answerTime = time.Minute
)

type outputKey struct{}

// LimitOutput returns a context whose ExecSync calls return only the first n bytes of standard output and of standard error.
func LimitOutput(ctx context.Context, n int) context.Context {
	return context.WithValue(ctx, outputKey{}, n)
}

// execSync receives the responses of ExecSync in turn, because they may be large. A running command does not hold a
// turn: the runtime sends the response's header when the command has exited.
func execSync() grpc.UnaryClientInterceptor {
	turns := make(chan struct{}, answersAtOnce)
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		answer, ok := reply.(*runtimeapi.ExecSyncResponse)
		if !ok {
			return invoke(ctx, method, req, reply, cc, opts...)
		}
		if n, ok := ctx.Value(outputKey{}).(int); ok {
			opts = append(slices.Clip(opts), grpc.ForceCodecV2(headCodec{CodecV2: encoding.GetCodecV2(grpcproto.Name), limit: n}))
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := cc.NewStream(ctx, &grpc.StreamDesc{StreamName: method}, method, opts...)
		if err != nil {
			return err
		}
		if err := stream.SendMsg(req); err != nil && !errors.Is(err, io.EOF) { // EOF: RecvMsg has the reason
			return err
		}
		if _, err := stream.Header(); err != nil {
			return err
		}
		select {
		case turns <- struct{}{}:
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
		defer func() { <-turns }()
		defer time.AfterFunc(answerTime, cancel).Stop()
		return stream.RecvMsg(answer)
	}
}

// unaryAsStream reports whether a stream is a call of execSync, which is already published.
func unaryAsStream(desc *grpc.StreamDesc) bool { return !desc.ClientStreams && !desc.ServerStreams }
