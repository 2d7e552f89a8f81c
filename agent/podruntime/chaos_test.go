package podruntime

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
	"github.com/kubeloupe/kubeloupe/agent/image"
	"github.com/kubeloupe/kubeloupe/agent/pleg"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/agent/worker"
)

// TestChaos runs workers, PLEG and plans against the simulated runtime while calls fail, answer late or lose their
// answers, and pods come and go. Afterwards each remaining pod has one sandbox and one of each container, and nothing
// is left of the others.
func TestChaos(t *testing.T) {
	rounds := uint64(20)
	if testing.Short() {
		rounds = 5
	}
	for seed := range rounds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { chaos(t, rand.New(rand.NewPCG(seed, 2))) })
		})
	}
}

// syncer connects workers and the runtime.
type syncer struct{ rt *Runtime }

func (s syncer) Sync(ctx context.Context, pod *v1.Pod, order uint64) (worker.Result, error) {
	out, err := s.rt.Sync(ctx, pod, order, nil)
	return worker.Result{Over: out.Finished, RetryAt: out.RetryAt}, err
}

func (s syncer) Terminate(ctx context.Context, pod *v1.Pod, grace *int64, reason string, order uint64) error {
	return s.rt.Kill(ctx, pod, grace, reason, order)
}

func (s syncer) Clean(ctx context.Context, pod *v1.Pod, remove bool, order uint64) error {
	err := s.rt.Clean(ctx, pod, remove, order)
	if err == nil && remove {
		s.rt.Forget(pod.UID)
	}
	return err
}

// watcher is the PLEG as an Observer.
type watcher struct{ *pleg.PLEG }

func (w watcher) Get(uid types.UID) *podstate.Pod { return w.Cache().Get(uid) }

// unrest makes some hooks and probes fail, and some hooks slow, until it ends.
type unrest struct {
	mu       sync.Mutex
	r        *rand.Rand
	verdicts map[string]bool // by container
	over     bool
}

func (u *unrest) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.over = true
}

func (u *unrest) fate() (bad bool, delay time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.over {
		return false, 0
	}
	return u.r.IntN(4) == 0, time.Duration(u.r.IntN(3000)) * time.Millisecond
}

func (u *unrest) Run(ctx context.Context, _ *v1.Pod, _ *v1.Container, _, _ string, _ *v1.LifecycleHandler) (string, error) {
	bad, delay := u.fate()
	select {
	case <-time.After(delay):
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if bad {
		return "no", errors.New("exit 1")
	}
	return "", nil
}

func (u *unrest) Failed(id string) (probe, message string, failed bool) {
	bad, _ := u.fate()
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, known := u.verdicts[id]; !known {
		u.verdicts[id] = bad
	}
	return "liveness", "", u.verdicts[id]
}

func (u *unrest) Started(*v1.Pod, *v1.Container, string) bool { return true }

// present reports that all images are on the node.
type present struct{}

func (present) Ensure(_ context.Context, req image.Request) (image.Result, error) {
	return image.Result{Ref: req.Image}, nil
}
func (present) Forget(string) {}

func chaos(t *testing.T, r *rand.Rand) {
	t.Helper()
	n := newSimulated(t, r.Uint64()|1)
	ctx, client, srv, events, check := n.ctx, n.client, n.srv, n.events, n.check
	unrest := &unrest{r: rand.New(rand.NewPCG(r.Uint64(), 1)), verdicts: map[string]bool{}}
	n.cfg.Options = Options{Hooks: unrest, Probes: unrest}
	rt, err := New(n.cfg)
	check(err)
	m, err := worker.New(worker.Config{Syncer: syncer{rt}, Bus: n.cfg.Bus})
	check(err)
	check(events.Relist(ctx, "start"))
	wg := &n.wg
	wg.Go(func() { _ = events.Run(ctx) })
	wg.Go(func() { _ = m.Run(ctx) })
	wg.Go(func() {
		for {
			select {
			case e := <-events.Events():
				m.Wake(e.UID, worker.Cause{Text: string(e.Type)})
			case <-ctx.Done():
				return
			}
		}
	})

	const pods = 6
	pod := func(i int) *v1.Pod {
		p := withInit(always("web", "log"), containerNamed("init"), sidecarNamed("mesh"))
		p.Name, p.UID = fmt.Sprint("p", i), types.UID(fmt.Sprint("u", i))
		for _, list := range [][]v1.Container{p.Spec.InitContainers, p.Spec.Containers} {
			for j := range list {
				list[j].Image, list[j].Command = "app:1", []string{"sleep", "infinity"}
			}
		}
		p.Spec.InitContainers[0].Command = []string{"true"}
		for _, c := range []*v1.Container{&p.Spec.InitContainers[1], &p.Spec.Containers[0]} {
			*c = probed(hooked(*c))
		}
		return p
	}
	for i := range pods {
		m.Ask(pod(i).UID, worker.Ask{Pod: pod(i), Cause: worker.Cause{Text: "ADD"}})
	}
	for range 40 {
		disturb(t, r, srv)
		time.Sleep(time.Duration(r.IntN(300)) * time.Millisecond)
		i := r.IntN(pods)
		if r.IntN(4) == 0 {
			m.Ask(pod(i).UID, worker.Ask{Pod: pod(i), End: true, Remove: true, Grace: new(r.Int64N(5)), Reason: "removed", Cause: worker.Cause{Text: "REMOVE"}})
		} else if r.IntN(3) == 0 {
			m.Ask(pod(i).UID, worker.Ask{Pod: pod(i), Cause: worker.Cause{Text: "ADD"}})
		}
	}
	unrest.end()
	stays := map[types.UID]bool{}
	for i := range pods {
		if stays[pod(i).UID] = i%2 == 0; i%2 == 0 {
			m.Ask(pod(i).UID, worker.Ask{Pod: pod(i), Cause: worker.Cause{Text: "ADD"}})
		} else {
			m.Ask(pod(i).UID, worker.Ask{Pod: pod(i), End: true, Remove: true, Reason: "removed", Cause: worker.Cause{Text: "REMOVE"}})
		}
	}
	time.Sleep(15 * time.Minute)
	synctest.Wait()
	want, got := []string{}, has(ctx, t, client)
	for uid, stay := range stays {
		if stay {
			want = append(want, string(uid)+" sandbox", string(uid)+" log", string(uid)+" mesh", string(uid)+" web")
		} else if s := m.State(uid); s != worker.None {
			t.Errorf("the worker of %s is %s", uid, s)
		}
	}
	slices.Sort(want)
	equal(t, "what runs", want, got)
	n.stop()
}

// disturb makes the next calls of a method fail, late or early, or removes a container or sandbox.
func disturb(t *testing.T, r *rand.Rand, srv *sim.Server) {
	t.Helper()
	methods := []string{
		"RunPodSandbox", "StopPodSandbox", "RemovePodSandbox", "CreateContainer", "StartContainer", "StopContainer",
		"PodSandboxStatus", "ContainerStatus", "ListPodSandbox", "ListContainers", "GetContainerEvents",
	}
	f := sim.Fault{Method: methods[r.IntN(len(methods))], Times: 1 + r.IntN(2), After: r.IntN(2) == 0}
	switch r.IntN(3) {
	case 0:
		f.Code = codes.Unavailable
	case 1:
		f.Code = codes.DeadlineExceeded
	default:
		f.Delay = time.Duration(1+r.IntN(3000)) * time.Millisecond
	}
	if _, err := srv.Inject(f); err != nil {
		t.Fatal(err)
	}
}

// has returns what runs, as "uid name", and every sandbox that is ready.
func has(ctx context.Context, t *testing.T, client runtimeapi.RuntimeServiceClient) []string {
	t.Helper()
	sandboxes, err := client.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		t.Fatal(err)
	}
	containers, err := client.ListContainers(ctx, &runtimeapi.ListContainersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, s := range sandboxes.GetItems() {
		if s.GetState() == runtimeapi.PodSandboxState_SANDBOX_READY {
			out = append(out, s.GetMetadata().GetUid()+" sandbox")
		}
	}
	for _, c := range containers.GetContainers() {
		if c.GetState() == runtimeapi.ContainerState_CONTAINER_RUNNING {
			out = append(out, c.GetLabels()["io.kubernetes.pod.uid"]+" "+c.GetMetadata().GetName())
		}
	}
	slices.Sort(out)
	return out
}
