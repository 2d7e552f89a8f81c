package image

import (
	"context"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri"
)

// A stepping user who holds one pod's pull does not hold another pod's. A failure that the user injects is a failed
// pull with its back-off.
func TestHeldPullHoldsNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(app)
		p := newPuller(t, Config{Service: n})
		answer := make(chan error)
		ctx := cri.WithGate(t.Context(), func(_ context.Context, method string, _ proto.Message) error {
			if method != "PullImage" {
				return nil
			}
			return <-answer
		})
		stepped := make(chan error, 1)
		req := Request{PodUID: "stepped", Image: app, Policy: v1.PullAlways}
		go func() { _, err := p.Ensure(ctx, req); stepped <- err }()
		synctest.Wait()
		if _, err := p.Ensure(t.Context(), Request{PodUID: "other", Image: app, Policy: v1.PullAlways}); err != nil {
			t.Error(err)
		}
		answer <- status.Error(codes.Unavailable, "out of order")
		expectReason(t, <-stepped, ErrImagePull)
		_, err := p.Ensure(ctx, req)
		expectReason(t, err, ImagePullBackOff)
	})
}

func expectReason(t *testing.T, err error, want Reason) {
	t.Helper()
	if e, ok := err.(*Error); !ok || e.Reason != want { //nolint:errorlint // Ensure promises it
		t.Errorf("error %v, want %s", err, want)
	}
}
