package cri

import (
	"context"
	"path"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// Gate is called before each call made with a context that carries it. If it returns an error, this is the call's error, and the
// call is not made.
type Gate func(ctx context.Context, method string, req proto.Message) error

type gateKey struct{}

// WithGate returns a context whose calls go through the gate.
func WithGate(ctx context.Context, g Gate) context.Context {
	return context.WithValue(ctx, gateKey{}, g)
}

// Ungated returns a context whose calls do not go through the gate. It is for work that several pods share, which a step session of
// one pod must not delay. Call Ask before the work begins.
func Ungated(ctx context.Context) context.Context { return WithGate(ctx, nil) }

// Ask calls the gate in ctx, if any, for a call that is made elsewhere.
func Ask(ctx context.Context, method string, req proto.Message) error {
	if g, ok := ctx.Value(gateKey{}).(Gate); ok && g != nil {
		return g(ctx, method, req)
	}
	return nil
}

// gated asks the gate before each unary call. It is the first interceptor, so that a call's deadline begins when the
// call is allowed.
func gated(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if m, ok := req.(proto.Message); ok && isCRI(method) {
		if err := Ask(ctx, path.Base(method), m); err != nil {
			return err
		}
	}
	return invoke(ctx, method, req, reply, cc, opts...)
}

// IsSecret reports whether the name of a variable or an annotation looks like that of a secret.
func IsSecret(name string) bool { return secretName(name) }
