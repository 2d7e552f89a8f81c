package sim_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
	"github.com/kubeloupe/kubeloupe/agent/cri/sim/simtest"
)

func newServer(t testing.TB, cfg sim.Config) *sim.Server {
	t.Helper()
	if cfg.Images == nil {
		cfg.Images = []sim.Image{{Name: "app:1", Present: true}}
	}
	srv, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	return srv
}

func podConfig(name string) *runtimeapi.PodSandboxConfig {
	return &runtimeapi.PodSandboxConfig{Metadata: &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "default", Uid: "uid-" + name}}
}

// startPod runs a sandbox and a container with the command, over gRPC or directly.
func startPod(t testing.TB, srv any, name, image string, command ...string) (sandbox, container string) {
	t.Helper()
	s, ok := srv.(starter)
	if client, isClient := srv.(runtimeapi.RuntimeServiceClient); isClient {
		s, ok = overGRPC{client}, true
	}
	if !ok {
		t.Fatalf("cannot start pods with %T", srv)
	}
	ctx := t.Context()
	cfg := podConfig(name)
	sb, err := s.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: cfg})
	if err != nil {
		t.Error(err)
	}
	c, err := s.CreateContainer(ctx, &runtimeapi.CreateContainerRequest{PodSandboxId: sb.GetPodSandboxId(), SandboxConfig: cfg, Config: &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: "main"}, Image: &runtimeapi.ImageSpec{Image: image}, Command: command,
	}})
	if err != nil {
		t.Error(err)
	}
	if _, err = s.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: c.GetContainerId()}); err != nil {
		t.Error(err)
	}
	return sb.GetPodSandboxId(), c.GetContainerId()
}

type starter interface {
	RunPodSandbox(context.Context, *runtimeapi.RunPodSandboxRequest) (*runtimeapi.RunPodSandboxResponse, error)
	CreateContainer(context.Context, *runtimeapi.CreateContainerRequest) (*runtimeapi.CreateContainerResponse, error)
	StartContainer(context.Context, *runtimeapi.StartContainerRequest) (*runtimeapi.StartContainerResponse, error)
}

type overGRPC struct {
	c runtimeapi.RuntimeServiceClient
}

func (g overGRPC) RunPodSandbox(ctx context.Context, r *runtimeapi.RunPodSandboxRequest) (*runtimeapi.RunPodSandboxResponse, error) {
	return g.c.RunPodSandbox(ctx, r)
}

func (g overGRPC) CreateContainer(ctx context.Context, r *runtimeapi.CreateContainerRequest) (*runtimeapi.CreateContainerResponse, error) {
	return g.c.CreateContainer(ctx, r)
}

func (g overGRPC) StartContainer(ctx context.Context, r *runtimeapi.StartContainerRequest) (*runtimeapi.StartContainerResponse, error) {
	return g.c.StartContainer(ctx, r)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func containerStatus(t testing.TB, srv runtimeapi.RuntimeServiceServer, id string) *runtimeapi.ContainerStatus {
	t.Helper()
	st, err := srv.ContainerStatus(t.Context(), &runtimeapi.ContainerStatusRequest{ContainerId: id})
	check(t, err)
	return st.GetStatus()
}

func TestLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(t, sim.Config{})
		began := time.Now()
		_, id := startPod(t, srv, "a", "app:1", "sleep", "10")
		if d := time.Since(began); d < 120*time.Millisecond || d > 180*time.Millisecond {
			t.Errorf("a pod took %v to start, want 150ms ± 20%%", d)
		}
		time.Sleep(10*time.Second - 30*time.Millisecond)
		if st := containerStatus(t, srv, id); st.GetState() != runtimeapi.ContainerState_CONTAINER_RUNNING {
			t.Errorf("state too early: %v", st.GetState())
		}
		time.Sleep(30 * time.Millisecond)
		st := containerStatus(t, srv, id)
		if st.GetReason() != "Completed" || st.GetFinishedAt()-st.GetStartedAt() != int64(10*time.Second) {
			t.Errorf("status after ten seconds: %v", st)
		}
	})
}

func TestPull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(t, sim.Config{
			Latency: map[string]sim.Latency{}, PullBandwidth: 1000,
			Images: []sim.Image{
				{Name: "a:1", Layers: []sim.Layer{{"base", 5000}, {"a", 1000}}},
				{Name: "b:1", Layers: []sim.Layer{{"base", 5000}, {"b", 2000}}},
			},
			AnyImage: &sim.Image{Size: 3000},
		})
		pull := func(ctx context.Context, ref string) error {
			_, err := srv.PullImage(ctx, &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: ref}})
			return err
		}
		// A canceled pull leaves its layer to the one that waits for it.
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := pull(short, "a:1"); status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("pull with a deadline: %v", err)
			}
		})
		synctest.Wait()
		check(t, pull(t.Context(), "b:1"))
		wg.Wait()
		if d := time.Since(began); d != 8*time.Second {
			t.Errorf("the second pull took %v, want 1s of waiting and 7s", d)
		}
		began = time.Now()
		check(t, pull(t.Context(), "a:1"))
		if d := time.Since(began); d != time.Second {
			t.Errorf("a pull with a shared layer took %v, want 1s", d)
		}
		began = time.Now()
		check(t, pull(t.Context(), "example.com/anything:2"))
		if d := time.Since(began); d != 3*time.Second {
			t.Errorf("an image of the template took %v, want 3s", d)
		}
		used := func() uint64 {
			fs, err := srv.ImageFsInfo(t.Context(), &runtimeapi.ImageFsInfoRequest{})
			check(t, err)
			return fs.GetImageFilesystems()[0].GetUsedBytes().GetValue()
		}
		if got := used(); got != 11000 {
			t.Errorf("used = %d, want 11000: shared layers count once", got)
		}
		_, err := srv.RemoveImage(t.Context(), &runtimeapi.RemoveImageRequest{Image: &runtimeapi.ImageSpec{Image: "a:1"}})
		check(t, err)
		if got := used(); got != 10000 {
			t.Errorf("used = %d after removal, want 10000", got)
		}
	})
}

func TestFaults(t *testing.T) {
	run := func(srv *sim.Server, ctx context.Context, name string) error {
		_, err := srv.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: podConfig(name)})
		return err
	}
	count := func(t *testing.T, srv *sim.Server) int {
		list, err := srv.ListPodSandbox(t.Context(), &runtimeapi.ListPodSandboxRequest{})
		check(t, err)
		return len(list.GetItems())
	}
	for name, test := range map[string]func(t *testing.T, srv *sim.Server){
		"some times": func(t *testing.T, srv *sim.Server) {
			_, err := srv.Inject(sim.Fault{Method: "RunPodSandbox", Code: codes.Unavailable, Message: "no", Times: 2})
			check(t, err)
			for range 2 {
				if err := run(srv, t.Context(), "a"); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "no") {
					t.Errorf("error = %v", err)
				}
			}
			check(t, run(srv, t.Context(), "a"))
		},
		"one pod until undone": func(t *testing.T, srv *sim.Server) {
			undo, err := srv.Inject(sim.Fault{Method: "RunPodSandbox", Pod: "a", Code: codes.Internal})
			check(t, err)
			check(t, run(srv, t.Context(), "b"))
			if err := run(srv, t.Context(), "a"); status.Code(err) != codes.Internal {
				t.Errorf("error = %v", err)
			}
			undo()
			undo()
			check(t, run(srv, t.Context(), "a"))
		},
		"delay": func(t *testing.T, srv *sim.Server) {
			_, err := srv.Inject(sim.Fault{Method: "RunPodSandbox", Delay: time.Minute})
			check(t, err)
			began := time.Now()
			check(t, run(srv, t.Context(), "a"))
			if d := time.Since(began); d != time.Minute {
				t.Errorf("took %v, want one minute", d)
			}
		},
		"hang until the deadline": func(t *testing.T, srv *sim.Server) {
			_, err := srv.Inject(sim.Fault{Method: "RunPodSandbox", Hang: true, Times: 1})
			check(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := run(srv, ctx, "a"); status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("error = %v", err)
			}
			check(t, run(srv, t.Context(), "a")) // the name is free
		},
		"hang until undone": func(t *testing.T, srv *sim.Server) {
			undo, err := srv.Inject(sim.Fault{Method: "RunPodSandbox", Hang: true})
			check(t, err)
			time.AfterFunc(time.Second, undo)
			check(t, run(srv, t.Context(), "a"))
		},
		"lost reply": func(t *testing.T, srv *sim.Server) {
			_, err := srv.Inject(sim.Fault{Method: "RunPodSandbox", Code: codes.Unavailable, After: true, Times: 1})
			check(t, err)
			if err := run(srv, t.Context(), "a"); status.Code(err) != codes.Unavailable {
				t.Errorf("error = %v", err)
			}
			if n := count(t, srv); n != 1 {
				t.Errorf("%d sandboxes after a lost reply, want 1", n)
			}
			if err := run(srv, t.Context(), "a"); status.Code(err) != codes.FailedPrecondition {
				t.Errorf("second run: %v", err)
			}
		},
		"bad faults": func(t *testing.T, srv *sim.Server) {
			for _, f := range []sim.Fault{{Method: "RunPod", Hang: true}, {Method: "Status"}, {Method: "Status", Hang: true, Times: -1}} {
				if _, err := srv.Inject(f); err == nil {
					t.Errorf("no error for %+v", f)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, newServer(t, sim.Config{Latency: map[string]sim.Latency{}})) })
		})
	}
}

// TestEventStream uses gRPC in a synctest bubble, as the agent's tests do.
func TestEventStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(t, sim.Config{Latency: map[string]sim.Latency{}})
		lis := bufconn.Listen(1 << 20)
		ctx, cancel := context.WithCancel(context.Background())
		served := make(chan error, 1)
		go func() { served <- srv.Serve(ctx, lis) }()
		conn, err := grpc.NewClient("passthrough:///sim", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
		check(t, err)
		client := runtimeapi.NewRuntimeServiceClient(conn)

		startPod(t, srv, "before", "app:1", "true")
		synctest.Wait()
		stream, err := client.GetContainerEvents(t.Context(), &runtimeapi.GetEventsRequest{})
		check(t, err)
		for i, want := range []string{"CREATED", "STARTED", "CREATED", "STARTED", "STOPPED"} {
			e, err := stream.Recv() // kept since before the first subscriber
			check(t, err)
			if got := e.GetContainerEventType().String(); !strings.Contains(got, want) {
				t.Errorf("event %d = %v, want %v", i, got, want)
			}
		}
		_, err = srv.Inject(sim.Fault{Method: "GetContainerEvents", Code: codes.Unavailable, Times: 1})
		check(t, err)
		if _, err := stream.Recv(); status.Code(err) != codes.Unavailable {
			t.Errorf("dropped stream: %v", err)
		}
		stream, err = client.GetContainerEvents(t.Context(), &runtimeapi.GetEventsRequest{})
		check(t, err)
		sandbox, id := startPod(t, srv, "after", "app:1")
		check(t, srv.ExitContainer(id, 0, true))
		check(t, srv.ExitSandbox(sandbox))
		for range 6 {
			e, err := stream.Recv()
			check(t, err)
			if e.GetContainerEventType() == runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT && e.GetContainerId() == id {
				if st := e.GetContainersStatuses()[0]; st.GetReason() != "OOMKilled" || st.GetExitCode() != 137 {
					t.Errorf("status in the event: %v", st)
				}
			}
		}
		check(t, conn.Close())
		cancel()
		check(t, <-served)
	})
}

func TestConditions(t *testing.T) {
	srv := newServer(t, sim.Config{RuntimeHandlers: []string{"gvisor"}})
	check(t, srv.SetCondition(runtimeapi.NetworkReady, false, "NetworkPluginNotReady", "no CNI"))
	if err := srv.SetCondition("Ready", false, "", ""); err == nil {
		t.Error("no error for an unknown condition")
	}
	st, err := srv.Status(t.Context(), &runtimeapi.StatusRequest{})
	check(t, err)
	if c := st.GetStatus().GetConditions(); !c[0].GetStatus() || c[1].GetStatus() || c[1].GetMessage() != "no CNI" {
		t.Errorf("conditions = %v", c)
	}
	_, err = srv.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: podConfig("a"), RuntimeHandler: "gvisor"})
	check(t, err)
	v, err := srv.Version(t.Context(), &runtimeapi.VersionRequest{})
	check(t, err)
	if v.GetRuntimeName() != "kubeloupe-sim" || v.GetRuntimeVersion() != "simulated" {
		t.Errorf("version = %v: it must say that it is simulated", v)
	}
	if _, err := srv.Exec(t.Context(), nil); status.Code(err) != codes.Unimplemented || !strings.Contains(err.Error(), "simulated") {
		t.Errorf("exec: %v", err)
	}
}

func TestSeed(t *testing.T) {
	id := func(seed uint64) string {
		r, err := newServer(t, sim.Config{Seed: seed}).RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: podConfig("a")})
		check(t, err)
		return r.GetPodSandboxId()
	}
	one, again, two := id(1), id(1), id(2)
	if random, other := id(0), id(0); one != again || one == two || random == other {
		t.Error("ids do not follow the seed")
	}
}

func TestNewRefuses(t *testing.T) {
	for want, cfg := range map[string]sim.Config{
		`"RunPod" is not a CRI method`: {Latency: map[string]sim.Latency{"RunPod": {}}},
		"negative":                     {Latency: map[string]sim.Latency{"Status": {Fixed: -1}}},
		"BAD":                          {Images: []sim.Image{{Name: "BAD"}}},
		"want a tag":                   {Images: []sim.Image{{Name: "a@sha256:" + strings.Repeat("0", 64)}}},
	} {
		if _, err := sim.New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want %q", err, want)
		}
	}
}

func TestTerminationMessage(t *testing.T) { synctest.Test(t, testTerminationMessage) }

func testTerminationMessage(t *testing.T) {
	srv := newServer(t, sim.Config{Latency: map[string]sim.Latency{}})
	host := filepath.Join(t.TempDir(), "message")
	check(t, os.WriteFile(host, nil, 0o600))
	cfg := podConfig("a")
	cfg.LogDirectory = t.TempDir()
	sb, err := srv.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: cfg})
	check(t, err)
	c, err := srv.CreateContainer(t.Context(), &runtimeapi.CreateContainerRequest{PodSandboxId: sb.GetPodSandboxId(), SandboxConfig: cfg, Config: &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: "main"}, Image: &runtimeapi.ImageSpec{Image: "app:1"}, LogPath: "main/0.log",
		Command:     []string{"sh", "-c", "echo working; echo because > /dev/termination-log; exit 1"},
		Annotations: map[string]string{"io.kubernetes.container.terminationMessagePath": "/dev/termination-log"},
		Mounts:      []*runtimeapi.Mount{{ContainerPath: "/dev/termination-log", HostPath: host}},
	}})
	check(t, err)
	_, err = srv.StartContainer(t.Context(), &runtimeapi.StartContainerRequest{ContainerId: c.GetContainerId()})
	check(t, err)
	synctest.Wait()
	for path, want := range map[string]string{host: "because\n", filepath.Join(cfg.GetLogDirectory(), "main/0.log"): "stdout F working\n"} {
		if b, err := os.ReadFile(path); err != nil || !strings.HasSuffix(string(b), want) {
			t.Errorf("%s = %q, %v, want %q", path, b, err, want)
		}
	}
}

func TestListen(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	check(t, os.WriteFile(file, nil, 0o600))
	if _, err := sim.Listen(file); err == nil || !strings.Contains(err.Error(), "not a socket") {
		t.Errorf("listen on a file: %v", err)
	}
	if _, err := sim.Listen(filepath.Join(dir, strings.Repeat("d", 100), "s")); err == nil || !strings.Contains(err.Error(), "give a shorter one") {
		t.Errorf("listen at a long path: %v", err)
	}
	path := filepath.Join(dir, "run", "sim.sock")
	srv := newServer(t, sim.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- srv.Run(ctx, path) }()
	conn, err := grpc.NewClient("unix://"+path, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1, MaxDelay: 10 * time.Millisecond}}))
	check(t, err)
	_, err = runtimeapi.NewRuntimeServiceClient(conn).Version(t.Context(), &runtimeapi.VersionRequest{}, grpc.WaitForReady(true))
	check(t, err)
	if _, err := sim.Listen(path); err == nil || !strings.Contains(err.Error(), "another server") {
		t.Errorf("listen where a server is: %v", err)
	}
	check(t, conn.Close())
	cancel()
	check(t, <-done)
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("socket after the end: %v", err)
	}
	if _, err := srv.StartContainer(t.Context(), &runtimeapi.StartContainerRequest{}); err == nil {
		t.Error("a closed server started a container")
	}
}

// TestThousandPods starts, lists, stops and removes 1000 pods over gRPC, a hundred at a time.
func TestThousandPods(t *testing.T) {
	srv := newServer(t, sim.Config{})
	conn := simtest.Serve(t, srv)
	client := runtimeapi.NewRuntimeServiceClient(conn)
	const pods = 1000
	stream, err := client.GetContainerEvents(t.Context(), &runtimeapi.GetEventsRequest{})
	check(t, err)
	gate := make(chan struct{}, 100)
	var wg sync.WaitGroup
	each := func(do func(i int)) {
		for i := range pods {
			wg.Go(func() {
				gate <- struct{}{}
				defer func() { <-gate }()
				do(i)
			})
		}
		wg.Wait()
	}
	began := time.Now()
	each(func(i int) { startPod(t, client, fmt.Sprint("pod-", i), "app:1") })
	t.Logf("%d pods started in %v", pods, time.Since(began))

	list, err := client.ListPodSandbox(t.Context(), &runtimeapi.ListPodSandboxRequest{})
	check(t, err)
	ips := map[string]bool{}
	for _, sb := range list.GetItems() {
		st, err := client.PodSandboxStatus(t.Context(), &runtimeapi.PodSandboxStatusRequest{PodSandboxId: sb.GetId()})
		check(t, err)
		ips[st.GetStatus().GetNetwork().GetIp()] = true
	}
	containers, err := client.ListContainers(t.Context(), &runtimeapi.ListContainersRequest{})
	check(t, err)
	if len(list.GetItems()) != pods || len(containers.GetContainers()) != pods || len(ips) != pods {
		t.Fatalf("%d sandboxes, %d containers, %d addresses, want %d each", len(list.GetItems()), len(containers.GetContainers()), len(ips), pods)
	}
	each(func(i int) {
		_, err := client.RemovePodSandbox(t.Context(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: list.GetItems()[i].GetId()})
		if err != nil {
			t.Error(err)
		}
	})
	for range pods * 8 {
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("and removed, with %d events, after %v", pods*8, time.Since(began))
}

func BenchmarkPod(b *testing.B) {
	srv := newServer(b, sim.Config{Latency: map[string]sim.Latency{}})
	for i := 0; b.Loop(); i++ {
		sb, _ := startPod(b, srv, fmt.Sprint(i), "app:1")
		_, err := srv.RemovePodSandbox(b.Context(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: sb})
		check(b, err)
	}
}

func TestBrokenNetwork(t *testing.T) {
	srv := newServer(t, sim.Config{})
	run := func(name string, ns *runtimeapi.NamespaceOption) error {
		cfg := podConfig(name)
		cfg.Linux = &runtimeapi.LinuxPodSandboxConfig{SecurityContext: &runtimeapi.LinuxSandboxSecurityContext{NamespaceOptions: ns}}
		_, err := srv.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: cfg})
		return err
	}
	network := func() *runtimeapi.RuntimeCondition {
		st, err := srv.Status(t.Context(), &runtimeapi.StatusRequest{})
		check(t, err)
		return st.GetStatus().GetConditions()[1]
	}
	srv.BreakNetwork("")
	if err := run("a", nil); err == nil || !strings.Contains(err.Error(), `failed to find plugin "bridge" in path`) {
		t.Errorf("sandbox without a network: %v", err)
	}
	check(t, run("host", &runtimeapi.NamespaceOption{Network: runtimeapi.NamespaceMode_NODE}))
	if c := network(); c.GetStatus() || c.GetReason() != "NetworkPluginNotReady" || !strings.Contains(c.GetMessage(), "bridge") {
		t.Errorf("condition = %v", c)
	}
	srv.MendNetwork()
	check(t, run("a", nil)) // its name is available again
	if c := network(); !c.GetStatus() || c.GetMessage() != "" {
		t.Errorf("condition = %v", c)
	}
}

// A server that begins while the one before it ends finds its socket gone or in use.
func TestListenWhileAnotherEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	old, err := sim.Listen(path)
	for round := 0; round < 300 && err == nil; round++ {
		var ending sync.WaitGroup
		ends := old
		ending.Go(func() { _ = ends.Close() })
		for old, err = sim.Listen(path); err != nil && strings.Contains(err.Error(), "another server"); old, err = sim.Listen(path) {
		}
		ending.Wait()
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = old.Close()
}
