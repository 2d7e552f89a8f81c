package cri

import (
	"context"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// A context's gate is asked before its calls, can refuse them, and is not asked before other calls.
func TestGate(t *testing.T) {
	c, err := Dial(t.Context(), Config{Endpoint: serve(t, simulated(t))})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var asked []string
	ctx := WithGate(t.Context(), func(_ context.Context, method string, _ proto.Message) error {
		asked = append(asked, method)
		return status.Error(codes.Aborted, "no")
	})
	if _, err := c.Runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{}); status.Code(err) != codes.Aborted {
		t.Errorf("refused: %v", err)
	}
	for _, ctx := range []context.Context{t.Context(), Ungated(ctx)} {
		if _, err := c.Runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{}); err != nil {
			t.Error(err)
		}
	}
	if len(asked) != 1 || asked[0] != "ListContainers" {
		t.Errorf("asked %q", asked)
	}
}
