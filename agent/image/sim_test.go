package image_test

import (
	"errors"
	"testing"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
	"github.com/kubeloupe/kubeloupe/agent/cri/sim/simtest"
	"github.com/kubeloupe/kubeloupe/agent/image"
	"github.com/kubeloupe/kubeloupe/agent/image/containerdprogress"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// serve runs a simulated runtime on a socket and returns a connection to it.
func serve(t *testing.T, cfg sim.Config) *grpc.ClientConn {
	t.Helper()
	srv, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return simtest.Serve(t, srv)
}

// The same over gRPC, with a runtime without a content store: no progress, and no error.
func TestSimulatedRuntime(t *testing.T) {
	conn := serve(t, sim.Config{
		Latency: map[string]sim.Latency{}, PullBandwidth: -1,
		Images: []sim.Image{
			{Name: "r.io/app:v1", Size: 4096, User: "1000"},
			{Name: "r.io/named:v1", Size: 10, User: "www"},
			{Name: "r.io/here:v1", Size: 10, Present: true},
		},
	})
	rec := tracetest.New(t)
	p, err := image.New(image.Config{
		Service: runtimeapi.NewImageServiceClient(conn), Bus: rec.Bus(), QPS: 5, Burst: 10,
		Progress: containerdprogress.New(conn).Follow,
	})
	if err != nil {
		t.Fatal(err)
	}
	ensure := func(name string) (image.Result, error) {
		return p.Ensure(t.Context(), image.Request{PodUID: "u", Container: "c", Image: name})
	}

	app, err := ensure("r.io/app:v1")
	if err != nil || !app.Pulled || app.Bytes != 4096 || app.User.UID == nil || *app.User.UID != 1000 {
		t.Errorf("%+v, %v", app, err)
	}
	if again, err := ensure("r.io/app:v1"); err != nil || again.Pulled || again.Ref != app.Ref {
		t.Errorf("%+v, %v", again, err)
	}
	if named, err := ensure("r.io/named:v1"); err != nil || named.User.Name != "www" || named.User.UID != nil {
		t.Errorf("%+v, %v", named, err)
	}
	if here, err := ensure("r.io/here:v1"); err != nil || here.Pulled {
		t.Errorf("%+v, %v", here, err)
	}
	var e *image.Error
	if _, err := ensure("r.io/none:v1"); !errors.As(err, &e) || e.Reason != image.ErrImagePull {
		t.Errorf("error %v", err)
	}
	if _, err := ensure("r.io/none:v1"); !errors.As(err, &e) || e.Reason != image.ImagePullBackOff {
		t.Errorf("error %v", err)
	}
	if n := len(tracetest.Events[trace.ImageProgress](rec)); n != 0 {
		t.Errorf("%d progress events from a runtime that tells nothing", n)
	}
	if n := len(tracetest.Events[trace.ImagePull](rec)); n != 6 {
		t.Errorf("%d pull events, want begin and end of three", n)
	}
}
