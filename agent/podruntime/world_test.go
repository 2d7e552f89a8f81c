package podruntime

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri"
	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/image"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/agent/semaphore"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/gate"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// world is everything that a Runtime uses. It records operations and calls their hooks.
type world struct {
	t     *testing.T
	rec   *tracetest.Recorder
	slots *semaphore.Slots
	rt    *Runtime

	mu        sync.Mutex
	hooks     map[string]func(context.Context) error
	began     []string
	busy      []string
	cached    *podstate.Pod
	truth     *podstate.Pod
	refreshes int
	never     error // why the pod's volumes can never be mounted
	missing   error // why the image of the volume tools is not there
	cgroup    bool  // whether the pod has one
	lost      bool  // others unmounted the pod's volumes
	dead      bool  // the runtime reports the sandbox as not ready
}

func newWorld(t *testing.T, g Gate) *world {
	t.Helper()
	w := &world{t: t, rec: tracetest.New(t), hooks: map[string]func(context.Context) error{}}
	var err error
	if w.slots, err = semaphore.New(semaphore.Config{Name: "the runtime", Size: 1, Bus: w.rec.Bus()}); err != nil {
		t.Fatal(err)
	}
	w.rt, err = New(Config{
		Sandboxes: fakeCRI{w}, Containers: fakeCRI{w}, Images: fakeImages{w}, Volumes: fakeVolumes{w}, Cgroups: fakeCgroups{w},
		Observer: fakeObserver{w}, Gate: g, Slots: w.slots, Backoff: NewCrashBackoff(0, 0),
		Node:    criconfig.Node{LogRoot: t.TempDir()},
		DNS:     func(*v1.Pod) (*runtimeapi.DNSConfig, []criconfig.Warning, error) { return nil, nil, nil },
		RootDir: t.TempDir(), Bus: w.rec.Bus(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// on sets the hook of an operation.
func (w *world) on(op string, f func(context.Context) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hooks[op] = f
}

// block makes an operation wait until the returned function is called.
func (w *world) block(op string) (release func()) {
	done := make(chan struct{})
	w.on(op, func(ctx context.Context) error {
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	return sync.OnceFunc(func() { close(done) })
}

func (w *world) do(ctx context.Context, op string) error {
	w.mu.Lock()
	w.began, w.busy = append(w.began, op), append(w.busy, op)
	hook := w.hooks[op]
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		i := slices.Index(w.busy, op)
		w.busy = slices.Delete(w.busy, i, i+1)
	}()
	if hook == nil {
		return nil
	}
	return hook(ctx)
}

// busyNow returns the running operations, sorted.
func (w *world) busyNow() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(slices.Values(w.busy))
}

// did returns the operations that began since the last call of did.
func (w *world) did() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.began
	w.began = nil
	return d
}

// show sets the runtime's state; the cache shows it too.
func (w *world) show(p *podstate.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cached, w.truth = p, p
}

type fakeObserver struct{ *world }

func (w fakeObserver) Get(types.UID) *podstate.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cached
}

func (w fakeObserver) Refresh(context.Context, types.UID) (*podstate.Pod, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refreshes++
	w.cached = w.truth
	return w.truth, nil
}

type fakeImages struct{ *world }

func (w fakeImages) Ensure(ctx context.Context, req image.Request) (image.Result, error) {
	return image.Result{Ref: "sha256:" + req.Image}, w.do(ctx, "image "+req.Image)
}
func (fakeImages) Forget(string) {}

type fakeVolumes struct{ *world }

func (w fakeVolumes) Check(*v1.Pod) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.never
}

func (w fakeVolumes) Ready(*v1.Pod) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.lost
}

func (w fakeVolumes) Mount(ctx context.Context, _ *v1.Pod) (map[string]criconfig.Volume, error) {
	err := w.do(ctx, "mount")
	w.mu.Lock()
	defer w.mu.Unlock()
	return map[string]criconfig.Volume{"tools": {HostPath: "/tools", Missing: w.missing}}, err
}
func (w fakeVolumes) Unmount(ctx context.Context, _ trace.Pod) error { return w.do(ctx, "unmount") }

type fakeCgroups struct{ *world }

func (w fakeCgroups) Ready(*v1.Pod) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cgroup
}

func (w fakeCgroups) EnsurePod(ctx context.Context, _ *v1.Pod) error {
	err := w.do(ctx, "cgroup")
	w.setCgroup(err == nil)
	return err
}

func (w fakeCgroups) DestroyPod(ctx context.Context, _ types.UID) error {
	w.setCgroup(false)
	return w.do(ctx, "uncgroup")
}

// setCgroup sets whether the pod has a cgroup.
func (w *world) setCgroup(there bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cgroup = there
}

func (fakeCgroups) PodParent(*v1.Pod) string { return "/kubepods/pod" }

type fakeCRI struct{ *world }

func (w fakeCRI) RunPodSandbox(ctx context.Context, r *runtimeapi.RunPodSandboxRequest, _ ...grpc.CallOption) (*runtimeapi.RunPodSandboxResponse, error) {
	id := fmt.Sprintf("sb%d", r.GetConfig().GetMetadata().GetAttempt())
	if err := cri.Ask(ctx, "RunPodSandbox", r); err != nil {
		return nil, err
	}
	return &runtimeapi.RunPodSandboxResponse{PodSandboxId: id}, w.do(ctx, "run sandbox")
}

func (w fakeCRI) StopPodSandbox(ctx context.Context, r *runtimeapi.StopPodSandboxRequest, _ ...grpc.CallOption) (*runtimeapi.StopPodSandboxResponse, error) {
	return &runtimeapi.StopPodSandboxResponse{}, w.do(ctx, "stop sandbox "+r.GetPodSandboxId())
}

func (w fakeCRI) RemovePodSandbox(ctx context.Context, r *runtimeapi.RemovePodSandboxRequest, _ ...grpc.CallOption) (*runtimeapi.RemovePodSandboxResponse, error) {
	return &runtimeapi.RemovePodSandboxResponse{}, w.do(ctx, "remove sandbox "+r.GetPodSandboxId())
}

func (w fakeCRI) PodSandboxStatus(context.Context, *runtimeapi.PodSandboxStatusRequest, ...grpc.CallOption) (*runtimeapi.PodSandboxStatusResponse, error) {
	st := &runtimeapi.PodSandboxStatus{Network: &runtimeapi.PodSandboxNetworkStatus{Ip: "10.0.0.1"}}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead {
		st.State = runtimeapi.PodSandboxState_SANDBOX_NOTREADY
	}
	return &runtimeapi.PodSandboxStatusResponse{Status: st}, nil
}

func (w fakeCRI) CreateContainer(ctx context.Context, r *runtimeapi.CreateContainerRequest, _ ...grpc.CallOption) (*runtimeapi.CreateContainerResponse, error) {
	m := r.GetConfig().GetMetadata()
	if _, err := os.Stat(filepath.Dir(filepath.Join(r.GetSandboxConfig().GetLogDirectory(), r.GetConfig().GetLogPath()))); err != nil {
		return nil, fmt.Errorf("as CRI-O: Failed to open log file: %w", err)
	}
	return &runtimeapi.CreateContainerResponse{ContainerId: fmt.Sprintf("%s-%d", m.GetName(), m.GetAttempt())}, w.do(ctx, "create "+m.GetName())
}

func (w fakeCRI) StartContainer(ctx context.Context, r *runtimeapi.StartContainerRequest, _ ...grpc.CallOption) (*runtimeapi.StartContainerResponse, error) {
	name, _, _ := strings.Cut(r.GetContainerId(), "-")
	if err := cri.Ask(ctx, "StartContainer", r); err != nil {
		return nil, err
	}
	return &runtimeapi.StartContainerResponse{}, w.do(ctx, "start "+name)
}

func (w fakeCRI) StopContainer(ctx context.Context, r *runtimeapi.StopContainerRequest, _ ...grpc.CallOption) (*runtimeapi.StopContainerResponse, error) {
	return &runtimeapi.StopContainerResponse{}, w.do(ctx, "stop "+r.GetContainerId())
}

func (w fakeCRI) RemoveContainer(ctx context.Context, r *runtimeapi.RemoveContainerRequest, _ ...grpc.CallOption) (*runtimeapi.RemoveContainerResponse, error) {
	return &runtimeapi.RemoveContainerResponse{}, w.do(ctx, "remove "+r.GetContainerId())
}

// fakeGate holds every pod. It calls answer if that is set, otherwise before ahead of each step.
type fakeGate struct {
	before func(ctx context.Context, step, title string, request json.Marshaler) error
	answer func(q *gate.Question) (gate.Answer, error)
	ended  []string
	asked  []string
}

func (*fakeGate) Holds(trace.Pod) bool { return true }

func (g *fakeGate) Ask(ctx context.Context, q *gate.Question) (gate.Answer, error) {
	g.asked = append(g.asked, strings.TrimSpace(string(q.When)+" "+q.Action+" "+q.Call))
	if q.When == gate.After {
		g.ended = append(g.ended, q.Action)
	}
	if g.answer != nil {
		return g.answer(q)
	}
	if q.When != gate.Before {
		return gate.Answer{}, nil
	}
	defer q.Held()()
	return gate.Answer{}, g.before(ctx, q.Action, q.Title, q.Request)
}
