package podruntime

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/qos"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

func sized(c v1.Container, cpu, memory string, restart ...v1.ResourceName) v1.Container {
	list := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}
	c.Resources = v1.ResourceRequirements{Requests: list, Limits: list}
	for _, name := range restart {
		c.ResizePolicy = append(c.ResizePolicy, v1.ContainerResizePolicy{ResourceName: name, RestartPolicy: v1.RestartContainer})
	}
	return c
}

// fakeResizes stores which resources containers were given.
type fakeResizes struct {
	*world
	given  map[string]v1.ResourceRequirements
	used   uint64
	pod    int64 // what the pod uses; 0: not known
	limit  int64 // of the pod's cgroup; 0: what the container web was given first
	failed string
	limits map[string]resource.Quantity // of volumes
	// resizing says that a resize is in progress.
	resizing bool
}

func (f *fakeResizes) InProgress(types.UID) bool { return f.resizing }

func (f *fakeResizes) MemoryUsage(*v1.Pod) (int64, bool) { return f.pod, f.pod > 0 }

func (f *fakeResizes) MemoryLimit(*v1.Pod) (int64, bool) {
	if f.limit == 0 {
		web := f.given["web"]
		f.limit = web.Limits.Memory().Value()
	}
	return f.limit, f.limit > 0
}

func (f *fakeResizes) Actuated(_ types.UID, container string) (v1.ResourceRequirements, bool) {
	r, ok := f.given[container]
	return r, ok
}

func (f *fakeResizes) Actuate(pod *v1.Pod, name string) error {
	if c := podspec.Container(pod, name); c != nil {
		f.given[name] = c.Resources
	}
	return nil
}

func (f *fakeResizes) Limit(_ types.UID, volume string) (resource.Quantity, bool) {
	limit, ok := f.limits[volume]
	return limit, ok
}

func (f *fakeResizes) Limited(pod *v1.Pod, volume string) error {
	for _, v := range pod.Spec.Volumes {
		if v.Name == volume {
			f.limits[volume] = *v.EmptyDir.SizeLimit
		}
	}
	return nil
}
func (f *fakeResizes) Begin(types.UID) {}
func (f *fakeResizes) Done(ctx context.Context, _ *v1.Pod) {
	f.resizing = false
	_ = f.do(ctx, "done")
}
func (f *fakeResizes) Failed(_ context.Context, _ *v1.Pod, message string) { f.failed = message }

func (f *fakeResizes) UpdateContainerResources(ctx context.Context, r *runtimeapi.UpdateContainerResourcesRequest, _ ...grpc.CallOption) (*runtimeapi.UpdateContainerResourcesResponse, error) {
	return &runtimeapi.UpdateContainerResourcesResponse{}, f.do(ctx, "update "+r.GetContainerId()+" "+resource.NewQuantity(r.GetLinux().GetMemoryLimitInBytes(), resource.BinarySI).String())
}

func (f *fakeResizes) UpdatePodSandboxResources(ctx context.Context, r *runtimeapi.UpdatePodSandboxResourcesRequest, _ ...grpc.CallOption) (*runtimeapi.UpdatePodSandboxResourcesResponse, error) {
	return &runtimeapi.UpdatePodSandboxResourcesResponse{}, f.do(ctx, "tell "+r.GetPodSandboxId()+" "+resource.NewQuantity(r.GetResources().GetMemoryLimitInBytes(), resource.BinarySI).String())
}

func (f *fakeResizes) ContainerStats(context.Context, *runtimeapi.ContainerStatsRequest, ...grpc.CallOption) (*runtimeapi.ContainerStatsResponse, error) {
	return &runtimeapi.ContainerStatsResponse{Stats: &runtimeapi.ContainerStats{
		Memory: &runtimeapi.MemoryUsage{UsageBytes: &runtimeapi.UInt64Value{Value: f.used}},
	}}, nil
}

func (f *fakeResizes) ResizePod(ctx context.Context, _ *v1.Pod, r qos.Resources) error {
	f.limit = *r.Memory
	return f.do(ctx, "pod "+resource.NewQuantity(*r.Memory, resource.BinarySI).String())
}

// ensured stores the pod for which a cgroup was ensured.
type ensured struct {
	fakeCgroups
	pod *v1.Pod
}

func (c *ensured) EnsurePod(ctx context.Context, pod *v1.Pod) error {
	c.pod = pod
	return c.fakeCgroups.EnsurePod(ctx, pod)
}

// A new agent does not know the limits of the pod's cgroup. It does not make them smaller before it has checked what the pod uses.
func TestResizeUnderANewAgent(t *testing.T) {
	for _, tc := range []struct {
		name, now string
		used      uint64
		want      []string
	}{
		{"smaller than what is in use", "32Mi", 40 << 20, []string{"mount", "cgroup"}},
		{"smaller", "32Mi", 10 << 20, []string{"mount", "cgroup", "pod 64Mi", "update web-0 32Mi", "tell sb0 32Mi", "pod 32Mi", "done"}},
		{"larger", "128Mi", 10 << 20, []string{"mount", "cgroup", "tell sb0 128Mi", "pod 128Mi", "update web-0 128Mi", "pod 128Mi", "done"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, w *world) {
				was := sized(containerNamed("web"), "1", "64Mi")
				f := &fakeResizes{world: w, given: map[string]v1.ResourceRequirements{"web": was.Resources, "": {}}, used: tc.used}
				c := &ensured{fakeCgroups: fakeCgroups{w}}
				w.rt.cfg.Resizes, w.rt.cfg.Updates, w.rt.cfg.PodLimits, w.rt.cfg.Cgroups = f, f, f, c
				w.show(seen("sandbox:0", "web=running"))
				_, err := w.rt.Sync(t.Context(), podOf(v1.RestartPolicyAlways, sized(containerNamed("web"), "1", tc.now)), 1, nil)
				if refused := !slices.Contains(tc.want, "done"); (err != nil) != refused || (f.failed != "") != refused {
					t.Errorf("error %v, said %q", err, f.failed)
				}
				if c.pod == nil || c.pod.Spec.Containers[0].Resources.Limits.Memory().String() != "64Mi" {
					t.Errorf("the cgroup was ensured for %+v", c.pod)
				}
				did := w.did()
				slices.Sort(did)
				slices.Sort(tc.want)
				equal(t, "did", strings.Join(tc.want, ", "), strings.Join(did, ", "))
			})
		})
	}
}

// A container that has ended and never runs again is no reason to resize the pod again and again.
func TestResizeBesideAContainerThatHasEnded(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		web, job := sized(containerNamed("web"), "1", "64Mi"), sized(containerNamed("job"), "1", "64Mi")
		f := &fakeResizes{world: w, given: map[string]v1.ResourceRequirements{"web": web.Resources, "job": job.Resources, "": {}}, resizing: true}
		w.rt.cfg.Resizes, w.rt.cfg.Updates, w.rt.cfg.PodLimits = f, f, f
		w.show(seen("sandbox:0", "web=running", "job=exited/0"))
		pod := podOf(v1.RestartPolicyNever, sized(containerNamed("web"), "1", "128Mi"), sized(containerNamed("job"), "1", "128Mi"))
		w.rt.learn(pod.UID, func(k *knowledge) { k.mounted = true })
		w.setCgroup(true)
		if err := os.MkdirAll(filepath.Join(w.rt.cfg.RootDir, "pods", "uid"), 0o750); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"tell sb0 256Mi, pod 256Mi, update web-0 128Mi, pod 256Mi, done", ""} {
			if _, err := w.rt.Sync(t.Context(), pod, 1, nil); err != nil {
				t.Error(err)
			}
			equal(t, "did", want, strings.Join(w.did(), ", "))
		}
	})
}

// The new container starts although the pod's limits could not be set. They are set, and the runtime learns them, in the next sync.
func TestResizeWithARestartAgainAfterAFailure(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		was, now := sized(containerNamed("web"), "1", "64Mi"), sized(containerNamed("web"), "1", "32Mi", v1.ResourceMemory)
		f := &fakeResizes{world: w, given: map[string]v1.ResourceRequirements{"web": was.Resources, "": {}}, resizing: true}
		w.rt.cfg.Resizes, w.rt.cfg.Updates, w.rt.cfg.PodLimits = f, f, f
		w.show(seen("sandbox:0", "web=running"))
		w.on("pod 64Mi", func(context.Context) error { return errors.New("no") })
		w.rt.learn("uid", func(k *knowledge) { k.mounted = true })
		w.setCgroup(true)
		if err := os.MkdirAll(filepath.Join(w.rt.cfg.RootDir, "pods", "uid"), 0o750); err != nil {
			t.Fatal(err)
		}
		if _, err := w.rt.Sync(t.Context(), podOf(v1.RestartPolicyAlways, now), 1, nil); err == nil || !slices.Contains(w.did(), "create web") {
			t.Errorf("error %v", err)
		}
		w.show(seen("sandbox:0", "web#1=running"))
		time.Sleep(time.Minute)
		if _, err := w.rt.Sync(t.Context(), podOf(v1.RestartPolicyAlways, now), 1, nil); err != nil {
			t.Error(err)
		}
		equal(t, "did", "tell sb0 32Mi, pod 32Mi, pod 32Mi, done", strings.Join(w.did(), ", "))
	})
}

// The runtime learns the limits that the pod's cgroup has in the end, whatever failed before and is tried again or taken back.
func TestResizeAgainAfterAFailure(t *testing.T) {
	for _, tc := range []struct {
		name, fails, first, then string
		want                     [2]string
	}{
		{
			"the container's update, and taken back", "update web-0 128Mi", "128Mi", "64Mi",
			[2]string{"tell sb0 128Mi, pod 128Mi, update web-0 128Mi", "tell sb0 64Mi, pod 64Mi, pod 64Mi, done"},
		},
		{
			"the pod's limits, and taken back", "pod 128Mi", "128Mi", "64Mi",
			[2]string{"tell sb0 128Mi, pod 128Mi, tell sb0 64Mi", "pod 64Mi, pod 64Mi, done"},
		},
		{
			"the pod's final limits", "pod 32Mi", "32Mi", "32Mi",
			[2]string{"pod 64Mi, update web-0 32Mi, tell sb0 32Mi, pod 32Mi, tell sb0 64Mi", "tell sb0 32Mi, pod 32Mi, pod 32Mi, done"},
		},
		{
			"the runtime's answer, and taken back", "tell sb0 128Mi", "128Mi", "64Mi",
			[2]string{"tell sb0 128Mi", "tell sb0 64Mi, pod 64Mi, pod 64Mi, done"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, w *world) {
				was := sized(containerNamed("web"), "1", "64Mi")
				f := &fakeResizes{world: w, given: map[string]v1.ResourceRequirements{"web": was.Resources, "": {}}, resizing: true}
				w.rt.cfg.Resizes, w.rt.cfg.Updates, w.rt.cfg.PodLimits = f, f, f
				w.show(seen("sandbox:0", "web=running"))
				w.on(tc.fails, func(context.Context) error {
					w.on(tc.fails, nil)
					return errors.New("no")
				})
				w.rt.learn("uid", func(k *knowledge) { k.mounted = true })
				w.setCgroup(true)
				if err := os.MkdirAll(filepath.Join(w.rt.cfg.RootDir, "pods", "uid"), 0o750); err != nil {
					t.Fatal(err)
				}
				for i, memory := range []string{tc.first, tc.then} {
					_, err := w.rt.Sync(t.Context(), podOf(v1.RestartPolicyAlways, sized(containerNamed("web"), "1", memory)), 1, nil)
					if (err != nil) != (i == 0) {
						t.Errorf("sync %d: error %v", i, err)
					}
					equal(t, "did", tc.want[i], strings.Join(w.did(), ", "))
				}
			})
		})
	}
}

// A new agent finds a resize in progress that has failed after the containers got their resources. It does not make the limit of the pod's cgroup
// smaller than what the pod uses.
func TestFailedResizeUnderANewAgent(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		web := sized(containerNamed("web"), "1", "32Mi")
		f := &fakeResizes{world: w, given: map[string]v1.ResourceRequirements{"web": web.Resources, "": {}}, pod: 40 << 20, limit: 64 << 20, resizing: true}
		w.rt.cfg.Resizes, w.rt.cfg.Updates, w.rt.cfg.PodLimits = f, f, f
		w.show(seen("sandbox:0", "web=running"))
		w.rt.learn("uid", func(k *knowledge) { k.mounted = true })
		if err := os.MkdirAll(filepath.Join(w.rt.cfg.RootDir, "pods", "uid"), 0o750); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			used   int64
			failed string
			want   string
		}{
			{40 << 20, "cannot decrease memory limits: attempting to set pod memory limit (33554432) below current usage (41943040)", ""},
			{10 << 20, "", "cgroup, pod 32Mi, pod 32Mi, done"},
		} {
			f.pod, f.failed = c.used, ""
			_, err := w.rt.Sync(t.Context(), podOf(v1.RestartPolicyAlways, web), 1, nil)
			if (err != nil) != (c.failed != "") || f.failed != c.failed {
				t.Errorf("error %v, said %q, want %q", err, f.failed, c.failed)
			}
			equal(t, "did", c.want, strings.Join(w.did(), ", "))
		}
	})
}

func TestResize(t *testing.T) {
	mb := func(n int) uint64 { return uint64(n) << 20 }
	for _, tc := range []struct {
		name     string
		was, now v1.Container
		used     uint64
		pod      uint64
		want     []string
		failed   string
	}{
		{name: "nothing changed", was: sized(containerNamed("web"), "1", "64Mi"), now: sized(containerNamed("web"), "1000m", "64Mi")},
		{
			name: "larger", was: sized(containerNamed("web"), "1", "64Mi"), now: sized(containerNamed("web"), "2", "128Mi"),
			want: []string{"tell sb0 128Mi", "pod 128Mi", "update web-0 128Mi", "pod 128Mi", "done"},
		},
		{
			name: "smaller", was: sized(containerNamed("web"), "1", "64Mi"), now: sized(containerNamed("web"), "1", "32Mi"), used: mb(10),
			want: []string{"pod 64Mi", "update web-0 32Mi", "tell sb0 32Mi", "pod 32Mi", "done"},
		},
		{
			name: "smaller than what is in use", was: sized(containerNamed("web"), "1", "64Mi"), now: sized(containerNamed("web"), "1", "32Mi"), used: mb(40),
			failed: `cannot decrease memory limits: attempting to set container "web" memory limit (33554432) below current usage (41943040)`,
		},
		{
			name: "smaller than what the pod uses", was: sized(containerNamed("web"), "1", "64Mi"), now: sized(containerNamed("web"), "1", "32Mi"), used: mb(10), pod: mb(33),
			failed: `cannot decrease memory limits: attempting to set pod memory limit (33554432) below current usage (34603008)`,
		},
		{
			name: "larger than what the pod uses", was: sized(containerNamed("web"), "1", "64Mi"), now: sized(containerNamed("web"), "1", "32Mi"), used: mb(10), pod: mb(31),
			want: []string{"pod 64Mi", "update web-0 32Mi", "tell sb0 32Mi", "pod 32Mi", "done"},
		},
		{
			name: "both are in use", was: sized(containerNamed("web"), "1", "64Mi"), now: sized(containerNamed("web"), "1", "32Mi"), used: mb(32), pod: mb(32),
			failed: "cannot decrease memory limits: [attempting to set pod memory limit (33554432) below current usage (33554432), " +
				`attempting to set container "web" memory limit (33554432) below current usage (33554432)]`,
		},
		{
			name: "with a restart", was: sized(containerNamed("web"), "1", "64Mi"), now: sized(containerNamed("web"), "1", "128Mi", v1.ResourceMemory),
			want: []string{"create web", "done", "image web:1", "mount", "pod 128Mi", "pod 128Mi", "start web", "stop web-0", "tell sb0 128Mi"},
		},
		{
			name: "of the other kind, without", was: sized(containerNamed("web"), "1", "64Mi"), now: sized(containerNamed("web"), "2", "64Mi", v1.ResourceMemory),
			want: []string{"tell sb0 64Mi", "pod 64Mi", "update web-0 64Mi", "pod 64Mi", "done"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, w *world) {
				f := &fakeResizes{world: w, given: map[string]v1.ResourceRequirements{"web": tc.was.Resources, "": {}}, used: tc.used, pod: int64(tc.pod)}
				w.rt.cfg.Resizes, w.rt.cfg.Updates, w.rt.cfg.PodLimits = f, f, f
				w.show(seen("sandbox:0", "web=running"))
				pod := podOf(v1.RestartPolicyAlways, tc.now)
				w.rt.learn(pod.UID, func(k *knowledge) { k.mounted = true })
				w.setCgroup(true)
				if err := os.MkdirAll(filepath.Join(w.rt.cfg.RootDir, "pods", "uid"), 0o750); err != nil {
					t.Fatal(err)
				}
				_, err := w.rt.Sync(t.Context(), pod, 1, nil)
				if (err != nil) != (tc.failed != "") || f.failed != tc.failed {
					t.Errorf("error %v, said %q, want %q", err, f.failed, tc.failed)
				}
				did := w.did()
				if slices.Contains(did, "create web") {
					if i, j := slices.Index(did, "pod 128Mi"), slices.Index(did, "create web"); i > j {
						t.Errorf("did %v: no room yet", did)
					}
					slices.Sort(did)
				}
				equal(t, "did", strings.Join(tc.want, ", "), strings.Join(did, ", "))
				resizes := func(e trace.Action) bool { return e.Verb == trace.VerbResize }
				equal(t, "told of its update", strings.Contains(strings.Join(tc.want, ", "), "update web-0"), slices.ContainsFunc(tracetest.Events[trace.Action](w.rec), resizes))
				if given := f.given["web"]; tc.failed == "" && !given.Limits.Memory().Equal(*tc.now.Resources.Limits.Memory()) {
					t.Errorf("given %v", given)
				}
			})
		})
	}
}

// A container that is restarted for less memory is stopped before it is checked what the pod uses: then it uses none.
func TestSmallerWithARestart(t *testing.T) {
	for _, tc := range []struct {
		name   string
		left   int64 // what the pod uses without the container
		want   []string
		failed string
	}{
		{name: "enough", left: 1 << 20, want: []string{"pod 64Mi", "stop web-0", "tell sb0 32Mi", "pod 32Mi", "done"}},
		{
			name: "others use too much", left: 40 << 20, want: []string{"pod 64Mi", "stop web-0"},
			failed: "cannot decrease memory limits: attempting to set pod memory limit (33554432) below current usage (41943040)",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, w *world) {
				web := sized(containerNamed("web"), "1", "32Mi", v1.ResourceMemory)
				f := &fakeResizes{world: w, given: map[string]v1.ResourceRequirements{"web": sized(containerNamed("web"), "1", "64Mi").Resources, "": {}}, pod: 60 << 20}
				w.rt.cfg.Resizes, w.rt.cfg.Updates, w.rt.cfg.PodLimits = f, f, f
				w.on("stop web-0", func(context.Context) error {
					time.Sleep(20 * time.Second)
					f.pod = tc.left
					return nil
				})
				w.show(seen("sandbox:0", "web=running"))
				pod := podOf(v1.RestartPolicyAlways, web)
				w.rt.learn(pod.UID, func(k *knowledge) { k.mounted = true })
				w.setCgroup(true)
				if err := os.MkdirAll(filepath.Join(w.rt.cfg.RootDir, "pods", "uid"), 0o750); err != nil {
					t.Fatal(err)
				}
				if _, err := w.rt.Sync(t.Context(), pod, 1, nil); (err != nil) != (tc.failed != "") || f.failed != tc.failed {
					t.Errorf("error %v, said %q, want %q", err, f.failed, tc.failed)
				}
				did := slices.DeleteFunc(w.did(), func(op string) bool {
					return slices.Contains([]string{"mount", "image web:1", "create web", "start web"}, op)
				})
				slices.Sort(did)
				slices.Sort(tc.want)
				equal(t, "did", strings.Join(tc.want, ", "), strings.Join(did, ", "))
			})
		})
	}
}

// A resize that needs nothing any more is complete, too: it failed and was reverted, or the containers were created with the new resources. The pod's
// cgroup, which may have the limits of an earlier attempt, gets its own.
func TestResizeThatNeedsNothing(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		web := sized(containerNamed("web"), "1", "64Mi")
		f := &fakeResizes{world: w, given: map[string]v1.ResourceRequirements{"web": web.Resources, "": {}}, resizing: true, pod: 80 << 20}
		w.rt.cfg.Resizes, w.rt.cfg.Updates, w.rt.cfg.PodLimits = f, f, f
		w.show(seen("sandbox:0", "web=running"))
		pod := podOf(v1.RestartPolicyAlways, web)
		w.rt.learn(pod.UID, func(k *knowledge) { k.mounted = true })
		w.setCgroup(true)
		if err := os.MkdirAll(filepath.Join(w.rt.cfg.RootDir, "pods", "uid"), 0o750); err != nil {
			t.Fatal(err)
		}
		for _, want := range [][]string{{"pod 64Mi", "pod 64Mi", "done"}, nil} {
			if _, err := w.rt.Sync(t.Context(), pod, 1, nil); err != nil {
				t.Error(err)
			}
			equal(t, "did", want, w.did())
		}
	})
}

// The cgroup has a larger limit than what the containers were given: an earlier attempt did not end, and was reverted. It does not get the smaller
// one while the pod uses more.
func TestRevertedToLessThanIsUsed(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		web := sized(containerNamed("web"), "1", "64Mi")
		f := &fakeResizes{world: w, given: map[string]v1.ResourceRequirements{"web": web.Resources, "": {}}, resizing: true, pod: 80 << 20, limit: 128 << 20}
		w.rt.cfg.Resizes, w.rt.cfg.Updates, w.rt.cfg.PodLimits = f, f, f
		w.show(seen("sandbox:0", "web=running"))
		pod := podOf(v1.RestartPolicyAlways, web)
		w.rt.learn(pod.UID, func(k *knowledge) { k.mounted = true })
		w.setCgroup(true)
		if err := os.MkdirAll(filepath.Join(w.rt.cfg.RootDir, "pods", "uid"), 0o750); err != nil {
			t.Fatal(err)
		}
		_, err := w.rt.Sync(t.Context(), pod, 1, nil)
		equal(t, "said", "cannot decrease memory limits: attempting to set pod memory limit (67108864) below current usage (83886080)", f.failed)
		equal(t, "failed", true, err != nil)
		equal(t, "did", []string(nil), w.did())
	})
}

// The runtime is told before the pod's cgroup changes. If it refuses, nothing changes; if it does not know the call, that does not matter; and if
// the cgroup cannot be changed, it is told so.
func TestRuntimeIsToldOfAResize(t *testing.T) {
	full := status.Error(codes.ResourceExhausted, "no memory left for the virtual machine")
	for _, tc := range []struct {
		name, now    string
		tell, cgroup error
		want         []string
		failed       string
	}{
		{"refused", "128Mi", full, nil, []string{"tell sb0 128Mi"}, "no memory left for the virtual machine"},
		{"refused at the end", "32Mi", full, nil, []string{"pod 64Mi", "update web-0 32Mi", "tell sb0 32Mi"}, "no memory left for the virtual machine"},
		{"not known", "128Mi", status.Error(codes.Unimplemented, "unknown method"), nil, []string{"tell sb0 128Mi", "pod 128Mi", "update web-0 128Mi", "pod 128Mi", "done"}, ""},
		{"of containerd 2.2", "128Mi", status.Error(codes.Unknown, "not implemented yet"), nil, []string{"tell sb0 128Mi", "pod 128Mi", "update web-0 128Mi", "pod 128Mi", "done"}, ""},
		{"the cgroup fails", "128Mi", nil, errors.New("busy"), []string{"tell sb0 128Mi", "pod 128Mi", "tell sb0 64Mi"}, "busy"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, w *world) {
				f := &fakeResizes{world: w, given: map[string]v1.ResourceRequirements{"web": sized(containerNamed("web"), "1", "64Mi").Resources, "": {}}}
				w.rt.cfg.Resizes, w.rt.cfg.Updates, w.rt.cfg.PodLimits = f, f, f
				w.show(seen("sandbox:0", "web=running"))
				pod := podOf(v1.RestartPolicyAlways, sized(containerNamed("web"), "1", tc.now))
				w.rt.learn(pod.UID, func(k *knowledge) { k.mounted = true })
				w.setCgroup(true)
				if err := os.MkdirAll(filepath.Join(w.rt.cfg.RootDir, "pods", "uid"), 0o750); err != nil {
					t.Fatal(err)
				}
				w.on("tell sb0 "+tc.now, func(context.Context) error { return tc.tell })
				w.on("pod "+tc.now, func(context.Context) error { return tc.cgroup })
				_, err := w.rt.Sync(t.Context(), pod, 1, nil)
				equal(t, "did", tc.want, w.did())
				equal(t, "said", tc.failed, f.failed)
				equal(t, "failed", tc.failed != "", err != nil)
			})
		})
	}
}
