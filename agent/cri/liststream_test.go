package cri

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// lister is a runtime with three containers that are larger than a message together. It records the calls for lists.
type lister struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	runtimeapi.UnimplementedImageServiceServer
	streams bool  // whether it has StreamContainers
	fails   error // after the first message

	mu    sync.Mutex
	calls []string
}

func (l *lister) called(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, name)
}

func (*lister) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{RuntimeName: "lister"}, nil
}

func (l *lister) ListContainers(context.Context, *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	l.called("ListContainers")
	return &runtimeapi.ListContainersResponse{Containers: []*runtimeapi.Container{{Id: "all"}}}, nil
}

func (l *lister) ListImages(context.Context, *runtimeapi.ListImagesRequest) (*runtimeapi.ListImagesResponse, error) {
	l.called("ListImages")
	return &runtimeapi.ListImagesResponse{Images: []*runtimeapi.Image{{Id: "image"}}}, nil
}

func (l *lister) StreamContainers(r *runtimeapi.StreamContainersRequest, stream grpc.ServerStreamingServer[runtimeapi.StreamContainersResponse]) error {
	if !l.streams {
		l.called("StreamContainers: unimplemented")
		return l.UnimplementedRuntimeServiceServer.StreamContainers(r, stream)
	}
	l.called("StreamContainers " + r.GetFilter().GetId())
	for i := range 3 {
		c := &runtimeapi.Container{Id: fmt.Sprint(i), Labels: map[string]string{"large": strings.Repeat("x", maxMessage/2)}}
		if err := stream.Send(&runtimeapi.StreamContainersResponse{Containers: []*runtimeapi.Container{c}}); err != nil {
			return err
		}
		if l.fails != nil {
			return l.fails
		}
	}
	return nil
}

func (l *lister) dial(t *testing.T, cfg Config) *Client {
	cfg.Endpoint = serve(t, func(g *grpc.Server) {
		runtimeapi.RegisterRuntimeServiceServer(g, l)
		runtimeapi.RegisterImageServiceServer(g, l)
	})
	return dial(t, cfg)
}

func TestListStreams(t *testing.T) {
	rec, l := tracetest.New(t), &lister{streams: true}
	c := l.dial(t, Config{ListStreaming: true, Bus: rec.Bus()})
	got, err := c.Runtime.ListContainers(t.Context(), &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{Id: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, c := range got.Containers {
		ids = append(ids, c.Id)
	}
	if diff := cmp.Diff([]string{"0", "1", "2"}, ids); diff != "" {
		t.Errorf("containers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"StreamContainers x"}, l.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	lists := 0
	for _, e := range tracetest.Events[trace.CRICall](rec) {
		if e.Method == "StreamContainers" {
			t.Errorf("published as another call: %+v", e)
		}
		if e.Method == "ListContainers" && e.Items == 3 {
			lists++
		}
	}
	if lists != 1 {
		t.Errorf("%d events have the list's number of items, want 1", lists)
	}
}

// A runtime without streams gets one call for each kind of list that fails, and an agent without the feature gate makes none.
func TestListsWithoutStreams(t *testing.T) {
	for name, tc := range map[string]struct {
		streams, on bool
		want        []string
	}{
		"not implemented": {on: true, want: []string{"StreamContainers: unimplemented", "ListContainers", "ListImages", "ListContainers", "ListImages"}},
		"no gate":         {streams: true, want: []string{"ListContainers", "ListImages", "ListContainers", "ListImages"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := &lister{streams: tc.streams}
			c := l.dial(t, Config{ListStreaming: tc.on})
			for range 2 {
				got, err := c.Runtime.ListContainers(t.Context(), &runtimeapi.ListContainersRequest{})
				if err != nil || len(got.Containers) != 1 || got.Containers[0].Id != "all" {
					t.Errorf("containers %v, %v", got, err)
				}
				images, err := c.Image.ListImages(t.Context(), &runtimeapi.ListImagesRequest{})
				if err != nil || len(images.Images) != 1 {
					t.Errorf("images %v, %v", images, err)
				}
			}
			if diff := cmp.Diff(tc.want, l.calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

func TestListStreamBreaks(t *testing.T) {
	l := &lister{streams: true, fails: status.Error(codes.Internal, "the store is broken")}
	c := l.dial(t, Config{ListStreaming: true})
	if got, err := c.Runtime.ListContainers(t.Context(), &runtimeapi.ListContainersRequest{}); status.Code(err) != codes.Internal ||
		!strings.HasSuffix(err.Error(), "StreamContainers recv failed after 1 items: the store is broken") {
		t.Errorf("%d containers, error %v", len(got.GetContainers()), err)
	}
	if diff := cmp.Diff([]string{"StreamContainers "}, l.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// All lists of the simulated runtime are the same with and without streams.
func TestSimulatedLists(t *testing.T) {
	srv, err := sim.New(sim.Config{Images: sim.DefaultImages(), Latency: map[string]sim.Latency{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	path := serve(t, func(g *grpc.Server) {
		runtimeapi.RegisterRuntimeServiceServer(g, srv)
		runtimeapi.RegisterImageServiceServer(g, srv)
	})
	for _, on := range []bool{false, true} {
		c := dial(t, Config{Endpoint: path, ListStreaming: on})
		if _, err := c.Image.PullImage(t.Context(), &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: "nginx:latest"}}); err != nil {
			t.Fatal(err)
		}
		images, err := c.Image.ListImages(t.Context(), &runtimeapi.ListImagesRequest{})
		if err != nil || len(images.Images) != 2 { // with the sandboxes' own
			t.Errorf("streams %t: images %v, %v", on, images, err)
		}
		if _, err := c.Runtime.ListPodSandbox(t.Context(), &runtimeapi.ListPodSandboxRequest{}); err != nil {
			t.Errorf("streams %t: sandboxes: %v", on, err)
		}
		if _, err := c.Runtime.ListContainerStats(t.Context(), &runtimeapi.ListContainerStatsRequest{}); err != nil {
			t.Errorf("streams %t: statistics of containers: %v", on, err)
		}
		if _, err := c.Runtime.ListPodSandboxStats(t.Context(), &runtimeapi.ListPodSandboxStatsRequest{}); err != nil {
			t.Errorf("streams %t: statistics of sandboxes: %v", on, err)
		}
	}
}
