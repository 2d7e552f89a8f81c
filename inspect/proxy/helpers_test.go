package proxy

import (
	"context"
	"encoding/json"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// plain describes calls without bodies.
type plain struct {
	mu   sync.Mutex
	gone []trace.Pod
}

func (*plain) Request(_ trace.Pod, method string, _ proto.Message) trace.CRICall {
	return trace.CRICall{Method: method}
}

func (*plain) Reply(_ trace.Pod, call *trace.CRICall, _ proto.Message, err error) {
	call.Code, call.Err = status.Code(err).String(), ""
	if err != nil {
		call.Err = status.Convert(err).Message()
	}
}

func (*plain) Readable(_ trace.Pod, req proto.Message) json.Marshaler {
	p, err := json.Marshal(req)
	if err != nil {
		panic(err)
	}
	return json.RawMessage(p)
}

func (d *plain) Forget(pod trace.Pod) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gone = append(d.gone, pod)
}

// lab is a runtime, a proxy before it and a client of the proxy.
type lab struct {
	bus    *trace.Bus
	cur    *trace.Cursor
	read   uint64
	proxy  *Proxy
	conn   *grpc.ClientConn // through the proxy
	direct *grpc.ClientConn
	end    context.CancelFunc
	ended  chan error
}

// fake is a runtime.
type fake struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	runtimeapi.UnimplementedImageServiceServer
	run   func(ctx context.Context, r *runtimeapi.RunPodSandboxRequest) (*runtimeapi.RunPodSandboxResponse, error)
	exec  func(ctx context.Context, r *runtimeapi.ExecSyncRequest) (*runtimeapi.ExecSyncResponse, error)
	watch func(s grpc.ServerStreamingServer[runtimeapi.ContainerEventResponse]) error
	lists runtimeapi.ListContainersResponse
}

func (f *fake) RunPodSandbox(ctx context.Context, r *runtimeapi.RunPodSandboxRequest) (*runtimeapi.RunPodSandboxResponse, error) {
	if f.run != nil {
		return f.run(ctx, r)
	}
	return &runtimeapi.RunPodSandboxResponse{PodSandboxId: "s1"}, nil
}

func (f *fake) CreateContainer(_ context.Context, r *runtimeapi.CreateContainerRequest) (*runtimeapi.CreateContainerResponse, error) {
	return &runtimeapi.CreateContainerResponse{ContainerId: "c-" + r.GetConfig().GetMetadata().GetName()}, nil
}

func (*fake) StartContainer(context.Context, *runtimeapi.StartContainerRequest) (*runtimeapi.StartContainerResponse, error) {
	return &runtimeapi.StartContainerResponse{}, nil
}

func (*fake) StopContainer(context.Context, *runtimeapi.StopContainerRequest) (*runtimeapi.StopContainerResponse, error) {
	return &runtimeapi.StopContainerResponse{}, nil
}

func (*fake) StopPodSandbox(context.Context, *runtimeapi.StopPodSandboxRequest) (*runtimeapi.StopPodSandboxResponse, error) {
	return &runtimeapi.StopPodSandboxResponse{}, nil
}

func (*fake) RemovePodSandbox(context.Context, *runtimeapi.RemovePodSandboxRequest) (*runtimeapi.RemovePodSandboxResponse, error) {
	return &runtimeapi.RemovePodSandboxResponse{}, nil
}

func (*fake) PullImage(context.Context, *runtimeapi.PullImageRequest) (*runtimeapi.PullImageResponse, error) {
	return &runtimeapi.PullImageResponse{ImageRef: "sha256:1"}, nil
}

func (f *fake) ExecSync(ctx context.Context, r *runtimeapi.ExecSyncRequest) (*runtimeapi.ExecSyncResponse, error) {
	return f.exec(ctx, r)
}

func (f *fake) ListContainers(context.Context, *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	return &f.lists, nil
}

func (*fake) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{RuntimeName: "fake"}, nil
}

func (f *fake) GetContainerEvents(_ *runtimeapi.GetEventsRequest, s grpc.ServerStreamingServer[runtimeapi.ContainerEventResponse]) error {
	return f.watch(s)
}

// begin starts a runtime, with what else serves beside it, and a proxy.
func begin(t testing.TB, f *fake, gate Gate, more ...func(*grpc.Server)) *lab {
	t.Helper()
	dir := t.TempDir()
	at := filepath.Join(dir, "r.sock")
	server := grpc.NewServer(grpc.MaxRecvMsgSize(maxMessage))
	runtimeapi.RegisterRuntimeServiceServer(server, f)
	runtimeapi.RegisterImageServiceServer(server, f)
	for _, m := range more {
		m(server)
	}
	go server.Serve(listen(t, at))
	t.Cleanup(server.Stop)

	l := &lab{bus: trace.NewBus(0), ended: make(chan error, 1)}
	l.cur = l.bus.Subscribe(trace.FromOldest)
	t.Cleanup(l.cur.Close)
	front := filepath.Join(dir, "p.sock")
	var err error
	l.proxy, err = New(Config{Listener: listen(t, front), Runtime: at, Bus: l.bus, Calls: &plain{}, Gate: gate, Drain: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, l.end = context.WithCancel(context.Background())
	go func() { l.ended <- l.proxy.Run(ctx) }()
	t.Cleanup(l.stop)
	l.conn, l.direct = dial(t, front), dial(t, at)
	return l
}

// stop ends the proxy and waits for it.
func (l *lab) stop() {
	if l.end == nil {
		return
	}
	l.end()
	<-l.ended
	l.end = nil
}

func listen(t testing.TB, path string) net.Listener {
	t.Helper()
	n, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func dial(t testing.TB, path string) *grpc.ClientConn {
	t.Helper()
	c, err := grpc.NewClient("unix://"+path, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.WaitForReady(true)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func (l *lab) runtime() runtimeapi.RuntimeServiceClient {
	return runtimeapi.NewRuntimeServiceClient(l.conn)
}

// records returns what was published of calls since it was asked last.
func (l *lab) records(t *testing.T) []trace.Record {
	t.Helper()
	var out []trace.Record
	buf := make([]trace.Record, 0, 64)
	for seq := l.bus.Seq(); l.read < seq; {
		recs, _, err := l.cur.Next(t.Context(), buf)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range recs {
			l.read = r.Seq
			if _, own := r.Event.(*trace.Agent); !own {
				out = append(out, r)
			}
		}
	}
	return out
}

var web = &runtimeapi.PodSandboxConfig{
	Metadata:    &runtimeapi.PodSandboxMetadata{Namespace: "shop", Name: "web", Uid: "u1"},
	Annotations: map[string]string{sourceKey: "api"},
}

var webPod = trace.Pod{Namespace: "shop", Name: "web", UID: "u1"}

func fail(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
