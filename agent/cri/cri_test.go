package cri

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// serve runs a gRPC server on a socket until the test ends and returns its path.
func serve(t *testing.T, register func(*grpc.Server), opts ...grpc.ServerOption) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cri.sock")
	lis, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer(opts...)
	register(g)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := g.Serve(lis); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { g.Stop(); wg.Wait() })
	return path
}

func simulated(t *testing.T) func(*grpc.Server) {
	t.Helper()
	srv, err := sim.New(sim.Config{Latency: map[string]sim.Latency{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	return func(g *grpc.Server) {
		runtimeapi.RegisterRuntimeServiceServer(g, srv)
		runtimeapi.RegisterImageServiceServer(g, srv)
	}
}

func dial(t *testing.T, cfg Config) *Client {
	t.Helper()
	c, err := Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestCallsArePublishedAndCarryTheirSpan(t *testing.T) {
	var mu sync.Mutex
	sent := map[string]string{} // method → traceparent
	note := func(ctx context.Context, method string) {
		mu.Lock()
		defer mu.Unlock()
		sent[method[strings.LastIndex(method, "/")+1:]] = strings.Join(metadata.ValueFromIncomingContext(ctx, "traceparent"), ",")
	}
	path := serve(t, simulated(t),
		grpc.UnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
			note(ctx, info.FullMethod)
			return h(ctx, req)
		}),
		grpc.StreamInterceptor(func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, h grpc.StreamHandler) error {
			note(ss.Context(), info.FullMethod)
			return h(srv, ss)
		}))
	rec := tracetest.New(t)
	c := dial(t, Config{Endpoint: path, Bus: rec.Bus()})
	if c.Info.GetRuntimeName() != "kubeloupe-sim" {
		t.Errorf("runtime %q", c.Info.GetRuntimeName())
	}
	parent := trace.ForPod(trace.Point(rec.Bus(), trace.Span{}, trace.Log{Message: "parent"}), trace.Pod{Namespace: "ns", Name: "p", UID: "u"})
	ctx := trace.ContextWith(t.Context(), parent)
	cfg := &runtimeapi.PodSandboxConfig{Metadata: &runtimeapi.PodSandboxMetadata{Name: "p", Namespace: "ns", Uid: "u"}}
	sb, err := c.Runtime.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{}); err != nil {
		t.Error(err)
	}
	if _, err := c.Runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: "none"}); status.Code(err) != codes.NotFound {
		t.Errorf("status of nothing: %v", err)
	}
	if _, err := c.Image.ImageStatus(ctx, &runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: "busybox"}}); err != nil {
		t.Error(err)
	}

	begun := map[trace.SpanID]trace.Record{}
	got := map[string]trace.CRICall{}
	for _, r := range rec.OfKind("cri.call") {
		ev, ok := r.Event.(*trace.CRICall)
		if !ok {
			t.Fatalf("event %T", r.Event)
		}
		if r.Edge == trace.EdgeBegin {
			begun[r.Span] = r
			continue
		}
		if b, ok := begun[r.Span]; !ok || b.Trace != r.Trace || b.Parent != r.Parent {
			t.Errorf("%s ends a span that has not begun so", ev.Method)
		}
		delete(begun, r.Span)
		mu.Lock()
		tp := sent[ev.Method]
		mu.Unlock()
		if want := (trace.Span{Trace: r.Trace, ID: r.Span}).Traceparent(); tp != want {
			t.Errorf("%s: traceparent %q, want %q", ev.Method, tp, want)
		}
		if ev.Method != "Version" && (r.Parent != parent.ID || r.Trace != parent.Trace || r.Pod != parent.Pod) {
			t.Errorf("%s is not the caller's child: %+v", ev.Method, r)
		}
		call := *ev
		if (call.Response.IsZero() && call.Code == "OK") != (call.Method == "ListPodSandbox") {
			t.Errorf("%s: response kept: %v", call.Method, !call.Response.IsZero())
		}
		call.Request, call.Response, call.Err = trace.Body{}, trace.Body{}, ""
		got[ev.Method] = call
	}
	if len(begun) != 0 {
		t.Errorf("%d calls have no end", len(begun))
	}
	want := map[string]trace.CRICall{
		"Version":         {Method: "Version", Code: "OK"},
		"RunPodSandbox":   {Method: "RunPodSandbox", Code: "OK", Sandbox: sb.GetPodSandboxId()},
		"ListPodSandbox":  {Method: "ListPodSandbox", Code: "OK", Items: 1},
		"ContainerStatus": {Method: "ContainerStatus", Code: "NotFound", Container: "none"},
		"ImageStatus":     {Method: "ImageStatus", Code: "OK", Image: "busybox"},
	}
	if d := cmp.Diff(want, got, cmp.Comparer(func(a, b trace.Body) bool { return a.IsZero() == b.IsZero() })); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
}

func TestStreamOpeningIsPublished(t *testing.T) {
	rec := tracetest.New(t)
	c := dial(t, Config{Endpoint: serve(t, simulated(t)), Bus: rec.Bus()})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, err := c.Runtime.GetContainerEvents(ctx, &runtimeapi.GetEventsRequest{}); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, call := range tracetest.Events[trace.CRICall](rec) {
		if call.Method == "GetContainerEvents" {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d records of the stream, want begin and end of its opening", n)
	}
}

func TestRedact(t *testing.T) {
	env := func(k, v string) *runtimeapi.KeyValue { return &runtimeapi.KeyValue{Key: k, Value: []byte(v)} }
	for _, tc := range []struct {
		name       string
		in         proto.Message
		hide, show []string
	}{
		{
			name: "registry credentials",
			in: &runtimeapi.PullImageRequest{
				Image: &runtimeapi.ImageSpec{Image: "registry/app:1"},
				Auth:  &runtimeapi.AuthConfig{Username: "me", Password: "hunter2", Auth: "bWU6aHVudGVyMg==", IdentityToken: "idt0ken", RegistryToken: "regt0ken"},
			},
			hide: []string{"hunter2", "bWU6aHVudGVyMg==", "idt0ken", "regt0ken"}, show: []string{"registry/app:1"},
		},
		{
			name: "environment by name",
			in: &runtimeapi.CreateContainerRequest{Config: &runtimeapi.ContainerConfig{Envs: []*runtimeapi.KeyValue{
				env("DB_PASSWORD", "hunter2"), env("api_token", "t0ken"), env("AWS_SECRET_ACCESS_KEY", "k3y"), env("GREETING", "hello there"), env("EMPTY_SECRET", ""),
			}}},
			hide: []string{"hunter2", "t0ken", "k3y"}, show: []string{"DB_PASSWORD", "hello there"},
		},
		{
			name: "kubectl's copy of the manifest",
			in: &runtimeapi.RunPodSandboxRequest{Config: &runtimeapi.PodSandboxConfig{Annotations: map[string]string{
				"kubectl.kubernetes.io/last-applied-configuration": `{"password":"hunter2"}`, "team": "blue",
			}}},
			hide: []string{"hunter2"}, show: []string{"blue"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := proto.Clone(tc.in)
			text, err := json.Marshal(Readable(tc.in, nil))
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range tc.hide {
				if strings.Contains(string(text), s) {
					t.Errorf("%q is shown: %s", s, text)
				}
			}
			for _, s := range tc.show {
				if !strings.Contains(string(text), s) {
					t.Errorf("%q is not shown: %s", s, text)
				}
			}
			if !proto.Equal(before, tc.in) {
				t.Error("what is sent was changed")
			}
		})
	}
}

func TestDeadlines(t *testing.T) {
	const usual = 2 * time.Minute
	for _, tc := range []struct {
		name   string
		req    any
		caller time.Duration
		want   time.Duration // 0 for none
	}{
		{name: "usual", req: &runtimeapi.VersionRequest{}, want: usual},
		{name: "a sandbox takes twice as long", req: &runtimeapi.RunPodSandboxRequest{}, want: 2 * usual},
		{name: "a stop has its grace period on top", req: &runtimeapi.StopContainerRequest{Timeout: 30}, want: usual + 30*time.Second},
		{name: "a command has its timeout on top", req: &runtimeapi.ExecSyncRequest{Timeout: 5}, want: usual + 5*time.Second},
		{name: "a command without a timeout", req: &runtimeapi.ExecSyncRequest{}, want: 0},
		{name: "a pull has none", req: &runtimeapi.PullImageRequest{}, want: 0},
		{name: "a checkpoint without a timeout", req: &runtimeapi.CheckpointContainerRequest{}, want: usual},
		{name: "a checkpoint with a short timeout", req: &runtimeapi.CheckpointContainerRequest{Timeout: 5}, want: usual},
		{name: "a checkpoint with a long timeout", req: &runtimeapi.CheckpointContainerRequest{Timeout: 600}, want: 10 * time.Minute},
		{name: "a checkpoint with a timeout of 300 years", req: &runtimeapi.CheckpointContainerRequest{Timeout: math.MaxInt64}, want: time.Duration(maxSeconds) * time.Second},
		{name: "the caller's own stays", req: &runtimeapi.VersionRequest{}, caller: time.Hour, want: time.Hour},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if tc.caller > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tc.caller)
					defer cancel()
				}
				var got time.Duration
				invoke := func(ctx context.Context, _ string, req, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
					if at, ok := ctx.Deadline(); ok {
						got = time.Until(at)
					}
					if r, ok := req.(*runtimeapi.CheckpointContainerRequest); ok && r.GetTimeout() != int64(tc.want/time.Second) {
						t.Errorf("the runtime receives a timeout of %d s", r.GetTimeout())
					}
					return nil
				}
				if err := deadlines(usual)(ctx, "/x", tc.req, nil, nil, invoke); err != nil {
					t.Fatal(err)
				}
				if got != tc.want {
					t.Errorf("deadline in %s, want %s", got, tc.want)
				}
			})
		})
	}
}

func TestDialErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	deaf := filepath.Join(dir, "deaf.sock") // accepts and closes
	lis, err := net.Listen("unix", deaf)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := lis.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			_ = c.Close()
		}
	})
	defer wg.Wait()
	defer lis.Close()
	for _, tc := range []struct {
		name, endpoint string
		patience       time.Duration // for those that are retried until the deadline
		want, remedy   string
	}{
		{name: "no socket", endpoint: filepath.Join(dir, "none.sock"), want: "no socket there", remedy: "--runtime sim"},
		{name: "not a socket", endpoint: "unix://" + file, want: "not a socket", remedy: "--container-runtime-endpoint"},
		{name: "not a unix endpoint", endpoint: "tcp://127.0.0.1:1", want: `"tcp://127.0.0.1:1": want unix:///path/of/socket`, remedy: "unix:///run/containerd"},
		{name: "relative path", endpoint: "unix:run/x.sock", want: "must be absolute", remedy: "unix:///run/containerd"},
		{name: "not gRPC", endpoint: deaf, patience: 300 * time.Millisecond, want: "nothing that speaks gRPC answers", remedy: "CRI socket"},
		{name: "not CRI v1", endpoint: serve(t, func(*grpc.Server) {}), want: "not a CRI v1 server", remedy: "disabled_plugins"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx := t.Context()
			if tc.patience > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, tc.patience)
				defer cancel()
			}
			_, err := Dial(ctx, Config{Endpoint: tc.endpoint})
			var dial *DialError
			if !errors.As(err, &dial) {
				t.Fatalf("error %T %v, want a DialError", err, err)
			}
			if !strings.Contains(dial.Cause, tc.want) || !strings.Contains(dial.Remedy, tc.remedy) || !strings.Contains(err.Error(), tc.endpoint) {
				t.Errorf("%v\nwant %q, remedy %q", err, tc.want, tc.remedy)
			}
		})
	}
}

func TestSeparateImageEndpoint(t *testing.T) {
	c := dial(t, Config{Endpoint: serve(t, simulated(t)), ImageEndpoint: serve(t, simulated(t))})
	if _, err := c.Image.ListImages(t.Context(), &runtimeapi.ListImagesRequest{}); err != nil {
		t.Error(err)
	}
	_, err := Dial(t.Context(), Config{Endpoint: serve(t, simulated(t)), ImageEndpoint: "/none.sock"})
	if err == nil || !strings.Contains(err.Error(), "/none.sock") {
		t.Errorf("error %v, want it to name the image endpoint", err)
	}
}
