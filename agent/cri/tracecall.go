package cri

import (
	"context"
	"path"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/redact"
	"github.com/kubeloupe/kubeloupe/trace"
)

// traceUnary publishes begin and end of each call and sends the span's context with it.
func traceUnary(bus *trace.Bus, secrets *redact.Vault) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if bus == nil || !isCRI(method) {
			return invoke(ctx, method, req, reply, cc, opts...)
		}
		parent := trace.FromContext(ctx)
		blank := secrets.For(parent.Pod.UID)
		call := describeRequest(ctx, path.Base(method), req, blank)
		span := trace.Begin(bus, parent, call)
		err := invoke(withTraceparent(ctx, span), method, req, reply, cc, opts...)
		describeReply(&call, reply, err, blank, func(container, message string) string { return secrets.Said(parent.Pod.UID, container, message) })
		trace.End(bus, span, call)
		return err
	}
}

// traceStream publishes the opening of a stream; its reader publishes the end.
func traceStream(bus *trace.Bus) grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		if bus == nil || !isCRI(method) || unaryAsStream(desc) || listed(ctx) {
			return open(ctx, desc, cc, method, opts...)
		}
		call := trace.CRICall{Method: path.Base(method)}
		span := trace.Begin(bus, trace.FromContext(ctx), call)
		stream, err := open(withTraceparent(ctx, span), desc, cc, method, opts...)
		describeReply(&call, nil, err, nil, nil)
		trace.End(bus, span, call)
		return stream, err
	}
}

// isCRI reports whether a method is the CRI's, not that of another service on the same socket.
func isCRI(method string) bool { return strings.HasPrefix(method, "/runtime.v1.") }

func withTraceparent(ctx context.Context, span trace.Span) context.Context {
	if tp := span.Traceparent(); tp != "" {
		return metadata.AppendToOutgoingContext(ctx, "traceparent", tp)
	}
	return ctx
}

func describeRequest(ctx context.Context, method string, req any, blank func(string) string) trace.CRICall {
	call := trace.CRICall{Method: method}
	if r, ok := req.(interface{ GetPodSandboxId() string }); ok {
		call.Sandbox = r.GetPodSandboxId()
	}
	if r, ok := req.(interface{ GetContainerId() string }); ok {
		call.Container = r.GetContainerId()
	}
	if r, ok := req.(*runtimeapi.RunPodSandboxRequest); ok {
		call.Handler = r.GetRuntimeHandler()
	}
	if r, ok := req.(*runtimeapi.CreateContainerRequest); ok {
		for _, m := range r.GetConfig().GetMounts() {
			if m.GetImage().GetImage() != "" {
				call.ImageVolumes++
			}
		}
	}
	call.Image = imageOf(req)
	if m, ok := req.(proto.Message); ok {
		call.Request = bodyOf(Shown(ctx, m), blank)
	}
	return call
}

// describeReply adds a response to call; said returns the redacted form of a container's message, by the container's
// name.
func describeReply(call *trace.CRICall, reply any, err error, blank func(string) string, said func(container, message string) string) {
	call.Code = status.Code(err).String()
	if err != nil {
		call.Err = status.Convert(err).Message()
		call.Class, call.Plugin = trace.Classify(call.Err), trace.PluginIn(call.Err)
		return
	}
	if r, ok := reply.(interface{ GetPodSandboxId() string }); ok && call.Sandbox == "" {
		call.Sandbox = r.GetPodSandboxId()
	}
	if r, ok := reply.(interface{ GetContainerId() string }); ok && call.Container == "" {
		call.Container = r.GetContainerId()
	}
	if n, isList := itemsOf(reply); isList {
		call.Items = n
		return // a list may be large and is requested often
	}
	if m, ok := reply.(proto.Message); ok {
		call.Response = bodyOf(shownReply(m, said), blank)
	}
}

// shownReply returns the redacted form of a response, if it depends on whether this agent created the container.
func shownReply(m proto.Message, said func(container, message string) string) proto.Message {
	r, ok := m.(*runtimeapi.ContainerStatusResponse)
	if !ok || r.GetStatus().GetMessage() == "" || said == nil {
		return m
	}
	r = proto.CloneOf(r)
	r.Status.Message = said(r.GetStatus().GetMetadata().GetName(), r.GetStatus().GetMessage())
	return r
}
