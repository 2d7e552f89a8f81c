package localrpc

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	api "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

type service struct {
	api.UnimplementedPodResourcesListerServer
	answer *api.ListPodResourcesResponse
}

func (s *service) List(context.Context, *api.ListPodResourcesRequest) (*api.ListPodResourcesResponse, error) {
	return s.answer, nil
}

func (s *service) Get(context.Context, *api.GetPodResourcesRequest) (*api.GetPodResourcesResponse, error) {
	return nil, errors.New("no such pod")
}

// serve runs a server until the test ends.
func serve(t *testing.T, s *service, qps, burst int) (api.PodResourcesListerClient, *tracetest.Recorder, func()) {
	t.Helper()
	dir, err := os.MkdirTemp("", "lr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path, rec := filepath.Join(dir, "sub", "kubelet.sock"), tracetest.New(t)
	if err := os.Mkdir(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil { // of an agent that was killed
		t.Fatal(err)
	}
	srv, err := New(Config{
		Path: path, Name: trace.ServerPodResources, QPS: qps, Burst: burst, Bus: rec.Bus(),
		Register: func(r grpc.ServiceRegistrar) { api.RegisterPodResourcesListerServer(r, s) },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- srv.Run(ctx) }()
	stop := func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the socket is left: %v", err)
		}
	}
	conn, err := grpc.NewClient("passthrough:///x", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		}),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true), grpc.MaxCallRecvMsgSize(64<<20)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	c := api.NewPodResourcesListerClient(conn)
	if _, err := c.List(t.Context(), &api.ListPodResourcesRequest{}); err != nil && status.Code(err) != codes.ResourceExhausted {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
	return c, rec, stop
}

func TestServe(t *testing.T) {
	c, rec, stop := serve(t, &service{answer: &api.ListPodResourcesResponse{}}, 1000, 1000)
	if _, err := c.Get(t.Context(), &api.GetPodResourcesRequest{}); err == nil || !strings.Contains(err.Error(), "no such pod") {
		t.Error(err)
	}
	stop()
	type one struct {
		method string
		code   int
	}
	var got []one
	for _, r := range rec.OfKind("server.request") {
		if e := r.Event.(*trace.ServerRequest); r.Edge == trace.EdgeEnd {
			got = append(got, one{e.Method, e.Code})
			if e.Server != trace.ServerPodResources || e.Path != "/v1.PodResourcesLister/"+e.Method {
				t.Errorf("%+v", e)
			}
		}
	}
	if len(got) != 2 || got[0] != (one{"List", 200}) || got[1] != (one{"Get", 400}) {
		t.Errorf("got %v", got)
	}
}

func TestRateLimit(t *testing.T) {
	began := time.Now()
	c, rec, stop := serve(t, &service{answer: &api.ListPodResourcesResponse{}}, 1, 3)
	refused := 0
	for range 10 {
		if _, err := c.List(t.Context(), &api.ListPodResourcesRequest{}); err != nil {
			refused++
			if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "rejected by rate limit") {
				t.Error(err)
			}
		}
	}
	most := 3 + int(time.Since(began)/time.Second) // one more for each second that a busy machine needs
	stop()
	if served := len(rec.OfKind("server.request")) / 2; refused < 11-most || served > most {
		t.Errorf("%d of 10 refused, %d published, want at most %d", refused, served, most)
	}
}

// fakeStream is a stream without messages.
type fakeStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s fakeStream) Context() context.Context { return s.ctx }

func TestNoRateLimitForStreams(t *testing.T) {
	c := &calls{limit: rate.NewLimiter(0, 0), cfg: Config{Bus: tracetest.New(t).Bus()}}
	err := c.stream(nil, fakeStream{ctx: t.Context()}, &grpc.StreamServerInfo{FullMethod: "/v1alpha1.Pods/WatchPods"}, func(any, grpc.ServerStream) error { return nil })
	if err != nil {
		t.Errorf("a stream: %v, want no rate limit", err)
	}
	if _, err := c.unary(t.Context(), nil, &grpc.UnaryServerInfo{}, nil); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a unary request: %v, want the rate limit", err)
	}
}

// A stream that its client ends is no failure, and tells so.
func TestStreamThatItsClientEnds(t *testing.T) {
	rec := tracetest.New(t)
	c := &calls{limit: rate.NewLimiter(0, 0), cfg: Config{Bus: rec.Bus()}}
	ctx, cancel := context.WithCancel(t.Context())
	err := c.stream(nil, fakeStream{ctx: ctx}, &grpc.StreamServerInfo{FullMethod: "/v1alpha1.Pods/WatchPods"}, func(_ any, s grpc.ServerStream) error {
		cancel()
		return s.Context().Err()
	})
	if err != nil {
		t.Error(err)
	}
	recs := rec.OfKind("server.request")
	end, ok := recs[len(recs)-1].Event.(*trace.ServerRequest)
	if !ok || end.Code != trace.CodeCanceled || end.Reason != "" || trace.Failure(end) != "" {
		t.Errorf("the end is %+v", end)
	}
}

func TestLargeAnswer(t *testing.T) {
	s := &service{answer: &api.ListPodResourcesResponse{PodResources: []*api.PodResources{{Name: strings.Repeat("x", maxAnswer)}}}}
	c, _, stop := serve(t, s, 1000, 1000)
	defer stop()
	if _, err := c.List(t.Context(), &api.ListPodResourcesRequest{}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("got %v", err)
	}
	if _, err := c.Get(t.Context(), &api.GetPodResourcesRequest{PodName: strings.Repeat("x", maxRequest)}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("got %v", err)
	}
}
