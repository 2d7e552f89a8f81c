package podresources

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	api "k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/kubelet/pkg/apis/podresources/v1alpha1"

	"github.com/kubeloupe/kubeloupe/agent/memory/state"
)

// fakes are the parts that have resources.
type fakes struct {
	pods      []*v1.Pod
	refreshed int
}

func (f *fakes) Active() []*v1.Pod { return f.pods }
func (f *fakes) Named(namespace, name string) *v1.Pod { // the last one
	for _, pod := range slices.Backward(f.pods) {
		if pod.Namespace == namespace && pod.Name == name {
			return pod
		}
	}
	return nil
}

func (f *fakes) Everyone() []*v1.Pod {
	return append(slices.Clone(f.pods), &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "ended"}})
}

func (f *fakes) Refresh() { f.refreshed++ }
func (f *fakes) Devices(uid types.UID, container string) []*api.ContainerDevices {
	return []*api.ContainerDevices{{ResourceName: "example.com/gpu", DeviceIds: []string{string(uid) + "-" + container}}}
}

func (f *fakes) Dynamic(pod *v1.Pod, c *v1.Container) []*api.DynamicResource {
	return []*api.DynamicResource{{ClaimNamespace: pod.Namespace, ClaimName: "claim of " + c.Name}}
}
func (f *fakes) Allocatable() []*api.ContainerDevices { return f.Devices("all", "gpu") }

// cpus and memory are managers of CPUs and memory; they give nothing if they are false.
type (
	cpus   bool
	memory bool
)

func (m cpus) Exclusive(_ types.UID, container string) []int {
	if !m || container != "app" {
		return nil
	}
	return []int{2, 3}
}

func (m cpus) OfPod(uid types.UID) []int {
	if !m || uid != "u1" {
		return nil
	}
	return []int{1, 2, 3}
}

func (m cpus) Allocatable() []int {
	if !m {
		return nil
	}
	return []int{1, 2, 3}
}

func (m memory) Blocks(_ types.UID, container string) []state.Block {
	if !m || container != "app" {
		return nil
	}
	return []state.Block{{NUMAAffinity: []int{0, 1}, Type: v1.ResourceMemory, Size: 5}}
}

func (m memory) OfPod(uid types.UID) []state.Block {
	if !m || uid != "u1" {
		return nil
	}
	return []state.Block{{NUMAAffinity: []int{0, 1}, Type: v1.ResourceMemory, Size: 9}}
}

func (m memory) Allocatable() []state.Block {
	if !m {
		return nil
	}
	return []state.Block{{NUMAAffinity: []int{1}, Type: "hugepages-2Mi", Size: 7}}
}

// isBlock reports whether the only memory is this.
func isBlock(all []*api.ContainerMemory, name string, size uint64, nodes ...int64) bool {
	if len(all) != 1 || all[0].MemoryType != name || all[0].Size != size || len(all[0].Topology.Nodes) != len(nodes) {
		return false
	}
	for i, n := range all[0].Topology.Nodes {
		if n.ID != nodes[i] {
			return false
		}
	}
	return true
}

func TestService(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	f := &fakes{pods: []*v1.Pod{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u1"},
		Spec: v1.PodSpec{
			InitContainers: []v1.Container{{Name: "init"}, {Name: "sidecar", RestartPolicy: &always}}, Containers: []v1.Container{{Name: "app"}},
		},
	}}}
	for _, managers := range []bool{false, true} {
		s, err := New(Config{Pods: f, Devices: f, CPUs: cpus(managers), Memory: memory(managers), Claims: f, Complete: known()})
		if err != nil {
			t.Fatal(err)
		}
		list, err := s.List(t.Context(), nil)
		if err != nil || len(list.PodResources) != 1 {
			t.Fatal(list, err)
		}
		one, err := s.Get(t.Context(), &api.GetPodResourcesRequest{PodNamespace: "shop", PodName: "web"})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []*api.PodResources{list.PodResources[0], one.PodResources} {
			names := ""
			for _, c := range p.Containers {
				names += c.Name + " " + c.Devices[0].DeviceIds[0] + " "
				has := managers && c.Name == "app"
				if len(c.DynamicResources) != 1 || c.DynamicResources[0].ClaimName != "claim of "+c.Name || c.DynamicResources[0].ClaimNamespace != "shop" {
					t.Errorf("claims %v", c.DynamicResources)
				}
				if slices.Equal(c.CpuIds, []int64{2, 3}) != has || isBlock(c.Memory, "memory", 5, 0, 1) != has {
					t.Errorf("managers %v: %v", managers, c)
				}
			}
			if slices.Equal(p.CpuIds, []int64{1, 2, 3}) != managers || isBlock(p.Memory, "memory", 9, 0, 1) != managers {
				t.Errorf("managers %v: the pod has %v and %v", managers, p.CpuIds, p.Memory)
			}
			if p.Name != "web" || p.Namespace != "shop" || names != "sidecar u1-sidecar app u1-app " {
				t.Errorf("got %s", names)
			}
		}
		old, err := s.Alpha().List(t.Context(), nil)
		if err != nil || len(old.PodResources) != 2 || old.PodResources[1].Name != "ended" {
			t.Fatal(old, err)
		}
		if p := old.PodResources[0]; p.Name != "web" || p.Namespace != "shop" || len(p.Containers) != 1 || p.Containers[0].Name != "app" || len(p.Containers[0].Devices) != 1 ||
			p.Containers[0].Devices[0].ResourceName != "example.com/gpu" || !slices.Equal(p.Containers[0].Devices[0].DeviceIds, []string{"u1-app"}) {
			t.Errorf("v1alpha1: %v, want the device of the app container alone", p)
		}
		all, err := s.GetAllocatableResources(t.Context(), nil)
		if err != nil || len(all.Devices) != 1 || slices.Equal(all.CpuIds, []int64{1, 2, 3}) != managers || isBlock(all.Memory, "hugepages-2Mi", 7, 1) != managers {
			t.Error(all, err)
		}
		if _, err := s.Get(t.Context(), &api.GetPodResourcesRequest{PodNamespace: "shop", PodName: "ended"}); err == nil || !strings.Contains(err.Error(), "pod ended in namespace shop not found") {
			t.Error(err)
		}
	}
	if f.refreshed != 4 {
		t.Errorf("devices of pods that ended were freed %d times, want 4", f.refreshed)
	}
	s, err := New(Config{Pods: f, Devices: f, CPUs: cpus(false), Memory: memory(false), Claims: f, Complete: known(), Ended: true})
	if err != nil {
		t.Fatal(err)
	}
	if list, err := s.List(t.Context(), nil); err != nil || len(list.PodResources) != 2 || list.PodResources[1].Name != "ended" {
		t.Error(list, err)
	}
	if _, err := New(Config{}); err == nil {
		t.Error("took an empty Config")
	}
}

// known says that all pods are known.
func known() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// Requests for pods wait until all pods are known, at most for Patience, and not longer than the client does.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		complete := make(chan struct{})
		f := &fakes{}
		s, err := New(Config{Pods: f, Devices: f, CPUs: cpus(false), Memory: memory(false), Claims: f, Complete: complete})
		if err != nil {
			t.Fatal(err)
		}
		asks := map[string]func(context.Context) int{
			"List": func(ctx context.Context) int {
				r, err := s.List(ctx, &api.ListPodResourcesRequest{})
				if err != nil {
					t.Error(err)
				}
				return len(r.GetPodResources())
			},
			"Get": func(ctx context.Context) int {
				if _, err := s.Get(ctx, &api.GetPodResourcesRequest{PodNamespace: "shop", PodName: "web"}); err != nil {
					return 0
				}
				return 1
			},
			"List of v1alpha1": func(ctx context.Context) int {
				r, err := s.Alpha().List(ctx, &v1alpha1.ListPodResourcesRequest{})
				if err != nil {
					t.Error(err)
				}
				return max(0, len(r.GetPodResources())-1) // one has ended
			},
		}
		for _, name := range slices.Sorted(maps.Keys(asks)) {
			begin := time.Now()
			if got := asks[name](t.Context()); got != 0 || time.Since(begin) != Patience {
				t.Errorf("%s without pods: %d after %s, want 0 after %s", name, got, time.Since(begin), Patience)
			}
			short, cancel := context.WithTimeout(t.Context(), time.Second)
			begin = time.Now()
			if asks[name](short); time.Since(begin) != time.Second {
				t.Errorf("%s of a client that waits for 1 s: after %s", name, time.Since(begin))
			}
			cancel()
		}
		time.AfterFunc(2*time.Second, func() {
			f.pods = []*v1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}}
			close(complete)
		})
		begin := time.Now()
		for _, name := range slices.Sorted(maps.Keys(asks)) {
			if got := asks[name](t.Context()); got != 1 || time.Since(begin) != 2*time.Second {
				t.Errorf("%s with pods that come later: %d after %s, want 1 after 2 s", name, got, time.Since(begin))
			}
		}
	})
}

// Of two pods of the same name, Get returns the new one.
func TestGetOfOneName(t *testing.T) {
	named := func(uid types.UID) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: uid}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "app"}}}}
	}
	f := &fakes{pods: []*v1.Pod{named("u1"), named("u2")}}
	s, err := New(Config{Pods: f, Devices: f, CPUs: cpus(false), Memory: memory(false), Claims: f, Complete: known()})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Get(t.Context(), &api.GetPodResourcesRequest{PodNamespace: "shop", PodName: "web"})
	if err != nil || got.PodResources.Containers[0].Devices[0].DeviceIds[0] != "u2-app" {
		t.Errorf("%v, %v", got, err)
	}
}
