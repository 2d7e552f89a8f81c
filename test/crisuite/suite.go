package crisuite

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Target is a server under test and what its tests may use.
type Target struct {
	// Runtime and Image are clients of the server.
	Runtime runtimeapi.RuntimeServiceClient
	Image   runtimeapi.ImageServiceClient
	// Busybox is a reference with a tag, of an image with busybox's programs and no entry point.
	Busybox string
	// Spare is a reference with a tag, of another image, which the suite pulls and removes.
	Spare string
	// CgroupParent for the sandboxes; it may be empty.
	CgroupParent string
	// LogDir is a directory for container logs that the server and the test both see.
	LogDir string
}

// patience is how long the suite waits for what must happen.
const patience = 30 * time.Second

// limit is for all tests together, so that a server that hangs fails them.
const limit = 3 * time.Minute

// Run tests the server.
func Run(t *testing.T, target Target) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel) // after the parallel tests
	s := &suite{Target: target, ctx: ctx}
	s.pull(t, target.Busybox)
	s.events = s.record(t)
	for _, test := range []struct {
		name string
		run  func(*suite, *testing.T)
	}{
		{"Runtime", (*suite).testRuntime},
		{"Lifecycle", (*suite).testLifecycle},
		{"Events", (*suite).testEvents},
		{"SandboxNames", (*suite).testSandboxNames},
		{"NameRace", (*suite).testNameRace},
		{"ContainerNames", (*suite).testContainerNames},
		{"CreateErrors", (*suite).testCreateErrors},
		{"StartErrors", (*suite).testStartErrors},
		{"ExitCodes", (*suite).testExitCodes},
		{"OutOfMemory", (*suite).testOutOfMemory},
		{"StopGraceful", (*suite).testStopGraceful},
		{"StopIgnored", (*suite).testStopIgnored},
		{"StopInit", (*suite).testStopInit},
		{"StopSignal", (*suite).testStopSignal},
		{"StopTwice", (*suite).testStopTwice},
		{"StopNotRunning", (*suite).testStopNotRunning},
		{"StopCancelled", (*suite).testStopCancelled},
		{"StopSandbox", (*suite).testStopSandbox},
		{"RemoveRunning", (*suite).testRemoveRunning},
		{"RemoveSandbox", (*suite).testRemoveSandbox},
		{"RunCancelled", (*suite).testRunCancelled},
		{"HostNetwork", (*suite).testHostNetwork},
		{"SandboxFilters", (*suite).testSandboxFilters},
		{"ContainerFilters", (*suite).testContainerFilters},
		{"Streams", (*suite).testStreams},
		{"Unknown", (*suite).testUnknown},
		{"ExecSync", (*suite).testExecSync},
		{"Logs", (*suite).testLogs},
		{"Command", (*suite).testCommand},
		{"User", (*suite).testUser},
		{"Resources", (*suite).testResources},
		{"Stats", (*suite).testStats},
		{"Images", (*suite).testImages},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(s, t)
		})
	}
}

type suite struct {
	Target
	ctx    context.Context
	events *recorder
}

// pod is a sandbox of one test.
type pod struct {
	s      *suite
	id     string
	config *runtimeapi.PodSandboxConfig
}

// sandboxConfig describes a pod with a unique name.
func (s *suite) sandboxConfig(t *testing.T) *runtimeapi.PodSandboxConfig {
	uid := strings.ToLower(rand.Text())
	name := strings.ToLower(strings.ReplaceAll(filepath.Base(t.Name()), "_", "-"))
	return &runtimeapi.PodSandboxConfig{
		Metadata:     &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "crisuite", Uid: uid},
		Hostname:     name,
		LogDirectory: filepath.Join(s.LogDir, uid),
		Labels:       map[string]string{"suite": "crisuite", "uid": uid},
		Annotations:  map[string]string{"note": name},
		Linux: &runtimeapi.LinuxPodSandboxConfig{
			CgroupParent: s.CgroupParent,
			SecurityContext: &runtimeapi.LinuxSandboxSecurityContext{
				NamespaceOptions: &runtimeapi.NamespaceOption{Pid: runtimeapi.NamespaceMode_CONTAINER},
			},
		},
	}
}

// run starts a sandbox that is removed when the test ends.
func (s *suite) run(t *testing.T, change ...func(*runtimeapi.PodSandboxConfig)) *pod {
	t.Helper()
	config := s.sandboxConfig(t)
	for _, c := range change {
		c(config)
	}
	p, err := s.tryRun(t, config)
	check(t, err)
	return p
}

func (s *suite) tryRun(t *testing.T, config *runtimeapi.PodSandboxConfig) (*pod, error) {
	check(t, os.MkdirAll(config.GetLogDirectory(), 0o755))
	resp, err := s.Runtime.RunPodSandbox(s.ctx, &runtimeapi.RunPodSandboxRequest{Config: config})
	if err != nil {
		return nil, err
	}
	p := &pod{s: s, id: resp.GetPodSandboxId(), config: config}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if _, err := s.Runtime.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: p.id}); err != nil {
			t.Errorf("remove the test's pod: %v", err)
		}
	})
	return p, nil
}

// container describes a busybox container that runs a shell script.
func (p *pod) container(script string) *runtimeapi.ContainerConfig {
	name := "c" + strings.ToLower(rand.Text()[:8])
	return &runtimeapi.ContainerConfig{
		Metadata:    &runtimeapi.ContainerMetadata{Name: name},
		Image:       &runtimeapi.ImageSpec{Image: p.s.Busybox},
		Command:     []string{"sh", "-c", script},
		Labels:      map[string]string{"uid": p.config.GetMetadata().GetUid(), "name": name},
		Annotations: map[string]string{"script": script},
		LogPath:     name + ".log",
		Linux: &runtimeapi.LinuxContainerConfig{
			Resources: &runtimeapi.LinuxContainerResources{},
			SecurityContext: &runtimeapi.LinuxContainerSecurityContext{
				NamespaceOptions: &runtimeapi.NamespaceOption{Pid: runtimeapi.NamespaceMode_CONTAINER},
			},
		},
	}
}

func (p *pod) tryCreate(config *runtimeapi.ContainerConfig) (string, error) {
	resp, err := p.s.Runtime.CreateContainer(p.s.ctx, &runtimeapi.CreateContainerRequest{PodSandboxId: p.id, Config: config, SandboxConfig: p.config})
	return resp.GetContainerId(), err
}

func (p *pod) create(t *testing.T, config *runtimeapi.ContainerConfig) string {
	t.Helper()
	id, err := p.tryCreate(config)
	check(t, err)
	return id
}

func (p *pod) tryStart(id string) error {
	_, err := p.s.Runtime.StartContainer(p.s.ctx, &runtimeapi.StartContainerRequest{ContainerId: id})
	return err
}

// start creates and starts a container that runs a script.
func (p *pod) start(t *testing.T, script string) string {
	t.Helper()
	id := p.create(t, p.container(script))
	check(t, p.tryStart(id))
	return id
}

func (s *suite) stop(t *testing.T, id string, grace int64) {
	t.Helper()
	_, err := s.Runtime.StopContainer(s.ctx, &runtimeapi.StopContainerRequest{ContainerId: id, Timeout: grace})
	check(t, err)
}

func (s *suite) status(t *testing.T, id string) *runtimeapi.ContainerStatus {
	t.Helper()
	resp, err := s.Runtime.ContainerStatus(s.ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id})
	check(t, err)
	return resp.GetStatus()
}

func (s *suite) sandboxStatus(t *testing.T, id string) *runtimeapi.PodSandboxStatus {
	t.Helper()
	resp, err := s.Runtime.PodSandboxStatus(s.ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: id})
	check(t, err)
	return resp.GetStatus()
}

// waitExited waits for a container's end and returns its status.
func (s *suite) waitExited(t *testing.T, id string) *runtimeapi.ContainerStatus {
	t.Helper()
	s.events.wait(t, id, runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT)
	st := s.status(t, id)
	if st.GetState() != runtimeapi.ContainerState_CONTAINER_EXITED {
		t.Fatalf("state after the stopped event = %v, want exited", st.GetState())
	}
	return st
}

// waitLog waits until the log of a container has a line with the text.
func (s *suite) waitLog(t *testing.T, id, text string) {
	t.Helper()
	path := s.status(t, id).GetLogPath()
	eventually(t, fmt.Sprintf("%q in the log", text), func() bool {
		b, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(b), text)
	})
}

func (s *suite) pull(t *testing.T, ref string) string {
	t.Helper()
	resp, err := s.Image.PullImage(s.ctx, &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: ref}})
	check(t, err)
	return resp.GetImageRef()
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError checks the code and a part of the text of an error.
func wantError(t *testing.T, err error, code codes.Code, text string) {
	t.Helper()
	if status.Code(err) != code || err != nil && !strings.Contains(err.Error(), text) {
		t.Errorf("error = %v, want code %v and text %q", err, code, text)
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// eventually polls for what has no event.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain for %s", patience, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
