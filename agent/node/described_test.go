package node

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// The node's description is published before the first request to the API server, once, and again when it changes.
func TestDescribed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var memory atomic.Pointer[string]
		memory.Store(new("4Gi"))
		w := newWorld(t, func(c *Config) {
			c.Cgroups = Cgroups{Version: 2, Driver: "systemd"}
			c.Info = v1.NodeSystemInfo{KernelVersion: "6.8.0", OSImage: "Debian", OperatingSystem: "linux", Architecture: "amd64", KubeletVersion: "v1"}
			c.Resources = func() (v1.ResourceList, v1.ResourceList) {
				return v1.ResourceList{v1.ResourceCPU: resource.MustParse("2"), v1.ResourceMemory: resource.MustParse(*memory.Load())},
					v1.ResourceList{v1.ResourceCPU: resource.MustParse("1900m"), v1.ResourceMemory: resource.MustParse("3Gi")}
			}
		}, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "lab-1"}, Status: v1.NodeStatus{Capacity: v1.ResourceList{"example.com/gpu": resource.MustParse("1")}}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		time.Sleep(time.Minute) //nolint:forbidigo // the bubble's
		memory.Store(new("8Gi"))
		w.Changed()
		time.Sleep(time.Minute) //nolint:forbidigo // the bubble's
		cancel()
		<-done
		first := trace.NodeDescribed{
			Node: "lab-1", OSImage: "Debian", Kernel: "6.8.0", OS: "linux", Architecture: "amd64", KubeletVersion: "v1",
			ContainerRuntime: "containerd://2.4.2", CgroupVersion: 2, CgroupDriver: "systemd",
			Resources: []trace.NodeResource{{Name: "cpu", Capacity: "2", Allocatable: "1900m"}, {Name: "memory", Capacity: "4Gi", Allocatable: "3Gi"}},
			Addresses: []trace.NodeAddress{{Type: "InternalIP", Address: "10.0.0.5"}, {Type: "Hostname", Address: "lab-1"}},
		}
		adopted := first // changes by others to the object count
		adopted.Changed = []string{"capacity example.com/gpu 1", "allocatable example.com/gpu 1"}
		adopted.Resources = []trace.NodeResource{first.Resources[0], {Name: "example.com/gpu", Capacity: "1", Allocatable: "1"}, first.Resources[1]}
		grown := adopted
		grown.Changed = []string{"capacity memory 4Gi → 8Gi"}
		grown.Resources = []trace.NodeResource{first.Resources[0], adopted.Resources[1], {Name: "memory", Capacity: "8Gi", Allocatable: "3Gi"}}
		if d := cmp.Diff([]trace.NodeDescribed{first, adopted, grown}, tracetest.Events[trace.NodeDescribed](w.rec)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

// A standalone node's description is published once, and again when a device plugin has registered.
func TestAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec, self := tracetest.New(t), NewSelf()
		var devices atomic.Bool
		a := NewAlone(self, func() trace.NodeDescribed {
			has := v1.ResourceList{v1.ResourceCPU: resource.MustParse("2")}
			if devices.Load() {
				has["example.com/gpu"] = resource.MustParse("3")
			}
			return Standalone("lab-1", v1.NodeSystemInfo{}, Runtime{}, nil, has, has, Cgroups{})
		}, rec.Bus())
		a.Tell()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		self.Changed()
		synctest.Wait()
		devices.Store(true)
		self.Changed()
		synctest.Wait()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		es := tracetest.Events[trace.NodeDescribed](rec)
		if len(es) != 2 || es[0].Changed != nil || len(es[1].Resources) != 2 || !es[1].Standalone {
			t.Fatalf("%+v", es)
		}
		if d := cmp.Diff([]string{"capacity example.com/gpu 3", "allocatable example.com/gpu 3"}, es[1].Changed); d != "" {
			t.Error(d)
		}
	})
}

func TestDifferences(t *testing.T) {
	with := func(change func(*trace.NodeDescribed)) *trace.NodeDescribed {
		d := &trace.NodeDescribed{Kernel: "6.8.0", Resources: []trace.NodeResource{{Name: "hugepages-2Mi", Capacity: "0", Allocatable: "0"}}}
		change(d)
		return d
	}
	same := with(func(*trace.NodeDescribed) {})
	for _, c := range []struct {
		name   string
		change func(*trace.NodeDescribed)
		want   []string
	}{
		{"nothing", func(*trace.NodeDescribed) {}, nil},
		{"a resource goes", func(d *trace.NodeDescribed) { d.Resources = nil }, []string{"capacity hugepages-2Mi gone", "allocatable hugepages-2Mi gone"}},
		{"an address comes", func(d *trace.NodeDescribed) {
			d.Addresses = []trace.NodeAddress{{Type: "InternalIP", Address: "10.0.0.5"}, {Type: "Hostname", Address: "a"}}
		}, []string{"addresses InternalIP 10.0.0.5, Hostname a"}},
		{"versions", func(d *trace.NodeDescribed) { d.Kernel, d.ContainerRuntime = "6.9.0", "containerd://2" }, []string{"kernel 6.8.0 → 6.9.0", "container runtime containerd://2"}},
	} {
		if d := cmp.Diff(c.want, differences(same, with(c.change))); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}
