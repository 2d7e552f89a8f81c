package cri

import (
	"context"

	"google.golang.org/protobuf/proto"
)

type shownKey struct{}

// twins are a request and its redacted form.
type twins struct{ sent, shown proto.Message }

// WithShown returns a context in which shown is the redacted form of the request sent.
func WithShown(ctx context.Context, sent, shown proto.Message) context.Context {
	return context.WithValue(ctx, shownKey{}, twins{sent, shown})
}

// Shown is the redacted form of a request that is made with ctx.
func Shown(ctx context.Context, req proto.Message) proto.Message {
	if t, ok := ctx.Value(shownKey{}).(twins); ok && t.sent == req {
		return t.shown
	}
	return req
}
