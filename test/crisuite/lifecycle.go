package crisuite

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func (s *suite) testRuntime(t *testing.T) {
	v, err := s.Runtime.Version(s.ctx, &runtimeapi.VersionRequest{})
	check(t, err)
	equal(t, "API version", v.GetRuntimeApiVersion(), "v1")
	if v.GetRuntimeName() == "" || v.GetRuntimeVersion() == "" {
		t.Errorf("runtime has no name or version: %v", v)
	}
	st, err := s.Runtime.Status(s.ctx, &runtimeapi.StatusRequest{})
	check(t, err)
	ready := map[string]bool{}
	for _, c := range st.GetStatus().GetConditions() {
		ready[c.GetType()] = c.GetStatus()
	}
	equal(t, runtimeapi.RuntimeReady, ready[runtimeapi.RuntimeReady], true)
	equal(t, runtimeapi.NetworkReady, ready[runtimeapi.NetworkReady], true)
	if len(st.GetRuntimeHandlers()) == 0 || st.GetRuntimeHandlers()[0].GetName() != "" {
		t.Errorf("runtime handlers = %v, want the default handler first", st.GetRuntimeHandlers())
	}
	cfg, err := s.Runtime.RuntimeConfig(s.ctx, &runtimeapi.RuntimeConfigRequest{})
	check(t, err)
	if cfg.GetLinux() == nil {
		t.Error("runtime config has no Linux part")
	}
}

func (s *suite) testLifecycle(t *testing.T) {
	p := s.run(t)
	sb := s.sandboxStatus(t, p.id)
	equal(t, "sandbox state", sb.GetState(), runtimeapi.PodSandboxState_SANDBOX_READY)
	equal(t, "sandbox uid", sb.GetMetadata().GetUid(), p.config.GetMetadata().GetUid())
	equal(t, "sandbox label", sb.GetLabels()["uid"], p.config.GetLabels()["uid"])
	equal(t, "sandbox annotation", sb.GetAnnotations()["note"], p.config.GetAnnotations()["note"])
	equal(t, "PID namespace", sb.GetLinux().GetNamespaces().GetOptions().GetPid(), runtimeapi.NamespaceMode_CONTAINER)
	if sb.GetNetwork().GetIp() == "" || sb.GetCreatedAt() == 0 {
		t.Errorf("sandbox has no address or creation time: %v", sb)
	}

	cfg := p.container("trap 'exit 0' TERM; echo up; sleep 1000 & wait")
	dir := t.TempDir()
	cfg.Mounts = []*runtimeapi.Mount{{ContainerPath: "/mnt", HostPath: dir, Readonly: true}}
	id := p.create(t, cfg)
	st := s.status(t, id)
	equal(t, "state", st.GetState(), runtimeapi.ContainerState_CONTAINER_CREATED)
	equal(t, "start time before start", st.GetStartedAt(), 0)
	equal(t, "end time before start", st.GetFinishedAt(), 0)
	equal(t, "reason before start", st.GetReason(), "")
	check(t, p.tryStart(id))
	st = s.status(t, id)
	equal(t, "state", st.GetState(), runtimeapi.ContainerState_CONTAINER_RUNNING)
	equal(t, "name", st.GetMetadata().GetName(), cfg.GetMetadata().GetName())
	equal(t, "label", st.GetLabels()["name"], cfg.GetMetadata().GetName())
	equal(t, "annotation", st.GetAnnotations()["script"], cfg.GetAnnotations()["script"])
	equal(t, "log path", st.GetLogPath(), filepath.Join(p.config.GetLogDirectory(), cfg.GetLogPath()))
	equal(t, "image", st.GetImage().GetImage(), s.Busybox)
	equal(t, "stop signal", st.GetStopSignal(), runtimeapi.Signal_SIGNAL_SIGTERM)
	if !strings.HasPrefix(st.GetImageId(), "sha256:") || !strings.Contains(st.GetImageRef(), "@sha256:") {
		t.Errorf("image id %q, image ref %q: want a digest and a reference by digest", st.GetImageId(), st.GetImageRef())
	}
	if len(st.GetMounts()) != 1 || st.GetMounts()[0].GetHostPath() != dir || !st.GetMounts()[0].GetReadonly() {
		t.Errorf("mounts = %v, want those of the request", st.GetMounts())
	}
	if st.GetStartedAt() < st.GetCreatedAt() || st.GetCreatedAt() < sb.GetCreatedAt() {
		t.Errorf("times are out of order: sandbox %d, created %d, started %d", sb.GetCreatedAt(), st.GetCreatedAt(), st.GetStartedAt())
	}
	s.waitLog(t, id, "up")
	s.stop(t, id, 10)
	st = s.status(t, id)
	equal(t, "state", st.GetState(), runtimeapi.ContainerState_CONTAINER_EXITED)
	equal(t, "exit code", st.GetExitCode(), 0)
	equal(t, "reason", st.GetReason(), "Completed")
	if st.GetFinishedAt() < st.GetStartedAt() {
		t.Errorf("finished %d before it started %d", st.GetFinishedAt(), st.GetStartedAt())
	}
	_, err := s.Runtime.RemoveContainer(s.ctx, &runtimeapi.RemoveContainerRequest{ContainerId: id})
	check(t, err)
	_, err = s.Runtime.ContainerStatus(s.ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id})
	wantError(t, err, codes.NotFound, id)
}

func (s *suite) testSandboxNames(t *testing.T) {
	p := s.run(t)
	if _, err := s.tryRun(t, p.config); err == nil {
		t.Error("a second sandbox with the name of the first was made")
	} else {
		wantError(t, err, codes.FailedPrecondition, "failed to reserve sandbox name")
	}
	// A stopped sandbox keeps its name.
	_, err := s.Runtime.StopPodSandbox(s.ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: p.id})
	check(t, err)
	_, err = s.Runtime.RunPodSandbox(s.ctx, &runtimeapi.RunPodSandboxRequest{Config: p.config})
	wantError(t, err, codes.FailedPrecondition, p.id)
	_, err = s.Runtime.RunPodSandbox(s.ctx, &runtimeapi.RunPodSandboxRequest{Config: &runtimeapi.PodSandboxConfig{}})
	wantError(t, err, codes.Unknown, "sandbox config must include metadata")
	_, err = s.Runtime.RunPodSandbox(s.ctx, &runtimeapi.RunPodSandboxRequest{Config: s.sandboxConfig(t), RuntimeHandler: "nosuch"})
	wantError(t, err, codes.Unknown, `no runtime for "nosuch" is configured`)

	p.config.Metadata.Attempt = 1
	_, err = s.tryRun(t, p.config)
	check(t, err)
	p.config.Metadata.Attempt = 0
	_, err = s.Runtime.RemovePodSandbox(s.ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: p.id})
	check(t, err)
	again, err := s.tryRun(t, p.config)
	check(t, err)
	if again.id == p.id {
		t.Error("a new sandbox has the id of an old one")
	}
}

// testNameRace: of several calls at once for one name, one succeeds.
func (s *suite) testNameRace(t *testing.T) {
	config := s.sandboxConfig(t)
	var wg sync.WaitGroup
	var made, refused atomic.Int32
	for range 5 {
		wg.Go(func() {
			switch _, err := s.Runtime.RunPodSandbox(s.ctx, &runtimeapi.RunPodSandboxRequest{Config: config}); status.Code(err) {
			case codes.OK:
				made.Add(1)
			case codes.FailedPrecondition:
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	list, err := s.Runtime.ListPodSandbox(s.ctx, &runtimeapi.ListPodSandboxRequest{Filter: &runtimeapi.PodSandboxFilter{LabelSelector: config.GetLabels()}})
	check(t, err)
	equal(t, "sandboxes made", made.Load(), 1)
	equal(t, "calls refused", refused.Load(), 4)
	equal(t, "sandboxes listed", len(list.GetItems()), 1)
	for _, sb := range list.GetItems() {
		_, err := s.Runtime.RemovePodSandbox(s.ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: sb.GetId()})
		check(t, err)
	}
}

func (s *suite) testContainerNames(t *testing.T) {
	p := s.run(t)
	cfg := p.container("true")
	id := p.create(t, cfg)
	_, err := p.tryCreate(cfg)
	wantError(t, err, codes.FailedPrecondition, "failed to reserve container name")
	check(t, p.tryStart(id))
	s.waitExited(t, id)
	_, err = p.tryCreate(cfg)
	wantError(t, err, codes.FailedPrecondition, id)
	cfg.Metadata.Attempt = 1
	p.create(t, cfg)
	cfg.Metadata.Attempt = 0
	_, err = s.Runtime.RemoveContainer(s.ctx, &runtimeapi.RemoveContainerRequest{ContainerId: id})
	check(t, err)
	p.create(t, cfg)
}

func (s *suite) testCreateErrors(t *testing.T) {
	p := s.run(t)
	nowhere := &pod{s: s, id: "nosuch", config: p.config}
	_, err := nowhere.tryCreate(p.container("true"))
	wantError(t, err, codes.NotFound, "failed to find sandbox id")

	cfg := p.container("true")
	cfg.Image.Image = s.Busybox + "-nosuch"
	_, err = p.tryCreate(cfg)
	wantError(t, err, codes.NotFound, "failed to resolve image")
	cfg.Image.Image = s.Busybox
	p.create(t, cfg) // the failure has released the name

	cfg = p.container("true")
	cfg.Metadata = nil
	_, err = p.tryCreate(cfg)
	wantError(t, err, codes.Unknown, "container config must include metadata")
}

func (s *suite) testStartErrors(t *testing.T) {
	wantError(t, (&pod{s: s}).tryStart("nosuch"), codes.NotFound, "nosuch")
	p := s.run(t)
	id := p.start(t, "exit 0")
	wantError(t, p.tryStart(id), codes.Unknown, "container is in CONTAINER_")
	s.waitExited(t, id)
	wantError(t, p.tryStart(id), codes.Unknown, "container is in CONTAINER_EXITED state")

	cfg := p.container("")
	cfg.Command = []string{"nosuchprogram"}
	id = p.create(t, cfg)
	if err := p.tryStart(id); err == nil || !strings.Contains(err.Error(), `exec: "nosuchprogram": executable file not found in $PATH`) {
		t.Errorf("start of a program that does not exist: %v", err)
	}
	st := s.status(t, id)
	equal(t, "state after a failed start", st.GetState(), runtimeapi.ContainerState_CONTAINER_EXITED)
	equal(t, "exit code after a failed start", st.GetExitCode(), 128)
	equal(t, "reason after a failed start", st.GetReason(), "StartError")
	if !strings.Contains(st.GetMessage(), "nosuchprogram") {
		t.Errorf("message after a failed start = %q", st.GetMessage())
	}
	equal(t, "start time after a failed start", st.GetStartedAt(), 0)
	equal(t, "events of a failed start", kinds(s.events.of(id)), "CREATED")
}

// testRunCancelled: a call whose context ends leaves no sandbox behind, and its name can be used.
func (s *suite) testRunCancelled(t *testing.T) {
	config := s.sandboxConfig(t)
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	_, err := s.Runtime.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: config})
	wantError(t, err, codes.Canceled, "")
	_, err = s.tryRun(t, config)
	check(t, err)
	list, err := s.Runtime.ListPodSandbox(s.ctx, &runtimeapi.ListPodSandboxRequest{Filter: &runtimeapi.PodSandboxFilter{LabelSelector: config.GetLabels()}})
	check(t, err)
	equal(t, "sandboxes after a cancelled and a good run", len(list.GetItems()), 1)
}

func (s *suite) testHostNetwork(t *testing.T) {
	config := s.sandboxConfig(t)
	config.Linux.SecurityContext.NamespaceOptions.Network = runtimeapi.NamespaceMode_NODE
	_, err := s.tryRun(t, config)
	wantError(t, err, codes.Unknown, "unable to set hostname without a private UTS namespace")
	config.Hostname = ""
	p, err := s.tryRun(t, config)
	check(t, err)
	st := s.sandboxStatus(t, p.id)
	equal(t, "address of a pod on the host's network", st.GetNetwork().GetIp(), "")
	equal(t, "network namespace", st.GetLinux().GetNamespaces().GetOptions().GetNetwork(), runtimeapi.NamespaceMode_NODE)
}
