package podresources

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	api "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// fakes are the parts that have resources.
type fakes struct {
	pods      []*v1.Pod
	refreshed int
}

func (f *fakes) Active() []*v1.Pod { return f.pods }
func (f *fakes) Pod(namespace, name string) *v1.Pod {
	for _, p := range f.pods {
		if p.Namespace == namespace && p.Name == name {
			return p
		}
	}
	return nil
}

func (f *fakes) Refresh() { f.refreshed++ }
func (f *fakes) Devices(uid types.UID, container string) []*api.ContainerDevices {
	return []*api.ContainerDevices{{ResourceName: "example.com/gpu", DeviceIds: []string{string(uid) + "-" + container}}}
}
func (f *fakes) Allocatable() []*api.ContainerDevices      { return f.Devices("all", "gpu") }
func (f *fakes) CPUs(*v1.Pod, *v1.Container) []int64       { return []int64{2, 3} }
func (f *fakes) AllocatableCPUs() []int64                  { return []int64{1, 2, 3} }
func (f *fakes) AllocatableMemory() []*api.ContainerMemory { return []*api.ContainerMemory{{Size: 7}} }

func (f *fakes) Memory(*v1.Pod, *v1.Container) []*api.ContainerMemory {
	return []*api.ContainerMemory{{Size: 5}}
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
		cfg := Config{Pods: f, Devices: f}
		if managers {
			cfg.CPUs, cfg.Memory = f, f
		}
		s, err := New(cfg)
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
				if (len(c.CpuIds) == 2) != managers || (len(c.Memory) == 1) != managers {
					t.Errorf("managers %v: %v", managers, c)
				}
			}
			if p.Name != "web" || p.Namespace != "shop" || names != "sidecar u1-sidecar app u1-app " {
				t.Errorf("got %s", names)
			}
		}
		all, err := s.GetAllocatableResources(t.Context(), nil)
		if err != nil || len(all.Devices) != 1 || (len(all.CpuIds) == 3) != managers || (len(all.Memory) == 1) != managers {
			t.Error(all, err)
		}
		if _, err := s.Get(t.Context(), &api.GetPodResourcesRequest{PodNamespace: "shop", PodName: "no"}); err == nil || !strings.Contains(err.Error(), "pod no in namespace shop not found") {
			t.Error(err)
		}
	}
	if f.refreshed != 2 {
		t.Errorf("devices of pods that ended were freed %d times, want 2", f.refreshed)
	}
	if _, err := New(Config{}); err == nil {
		t.Error("took an empty Config")
	}
}
