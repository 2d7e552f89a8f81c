package podresources

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	api "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/kubeloupe/kubeloupe/inspect/attach/discover"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	gpu = "example.com/gpu"
	nic = "example.com/nic"
)

// twoNodes is a machine with two NUMA nodes and static policies.
var twoNodes = Machine{
	Policies: discover.Policies{CPU: "static", Memory: "Static", Topology: "restricted", Scope: "pod"},
	NUMA:     []discover.NUMANode{{ID: 0, CPUs: "0-3"}, {ID: 1, CPUs: "4-7"}},
}

// tell writes a record in short.
func tell(r *trace.Record) string {
	switch e := r.Event.(type) {
	case *trace.ResourcesDescribed:
		out := fmt.Sprintf("node: %s %s %s %s reserved %s:", e.CPUPolicy, e.MemoryPolicy, e.TopologyPolicy, e.Scope, e.Reserved)
		for _, n := range e.Nodes {
			out += fmt.Sprintf(" %d=%s", n.ID, n.CPUs)
		}
		for _, m := range e.Memory {
			out += fmt.Sprintf(" %d/%s %d of %d", m.Node, m.Resource, m.Free, m.Allocatable)
		}
		return out
	case *trace.DevicePlugin:
		return fmt.Sprintf("node: %s %s %d", e.Op, e.Resource, e.Healthy)
	case *trace.Allocation:
		out := fmt.Sprintf("%s/%s: %s %s", r.Pod, e.Container, e.Outcome, e.Manager)
		if e.Source != "" {
			out += " " + string(e.Source)
		}
		for _, part := range []string{string(e.Why), e.CPUs} {
			if part != "" {
				out += " " + part
			}
		}
		for _, m := range e.Memory {
			out += fmt.Sprintf(" %s=%d@%s", m.Resource, m.Bytes, m.Nodes)
		}
		out += " on " + e.Nodes
		for _, m := range e.Free {
			out += fmt.Sprintf(" left %s=%d@%s", m.Resource, m.Bytes, m.Nodes)
		}
		return out
	case *trace.DeviceAllocation:
		return fmt.Sprintf("%s/%s: %s %d %s %v on %s", r.Pod, e.Container, e.Outcome, e.Count, e.Resource, e.IDs, e.Nodes)
	case *trace.ClaimDescribed:
		out := fmt.Sprintf("claim %s/%s %s", e.Namespace, e.Name, e.State)
		if !e.Since.IsZero() {
			out += fmt.Sprintf(" since %d", e.Since.Unix())
		}
		for _, d := range e.Devices {
			out += fmt.Sprintf(" %s/%s/%s%v", d.Driver, d.Pool, d.Device, d.CDI)
		}
		for _, p := range e.Pods {
			out += fmt.Sprintf(" %s%v", p.Pod, p.Containers)
		}
		return out
	case *trace.Log:
		return e.Message
	}
	return fmt.Sprintf("%T", r.Event)
}

func numa(nodes ...int64) *api.TopologyInfo {
	t := &api.TopologyInfo{}
	for _, n := range nodes {
		t.Nodes = append(t.Nodes, &api.NUMANode{ID: n})
	}
	return t
}

func memory(kind string, size uint64, nodes ...int64) *api.ContainerMemory {
	return &api.ContainerMemory{MemoryType: kind, Size: size, Topology: numa(nodes...)}
}

func devices(resource string, node int64, ids ...string) (out []*api.ContainerDevices) {
	for _, id := range ids {
		out = append(out, &api.ContainerDevices{ResourceName: resource, DeviceIds: []string{id}, Topology: numa(node)})
	}
	return out
}

func claim(name string, ids ...string) *api.DynamicResource {
	d := &api.DynamicResource{ClaimNamespace: "ml", ClaimName: name}
	for _, id := range ids {
		d.ClaimResources = append(d.ClaimResources, &api.ClaimResource{DriverName: "gpu.example.com", PoolName: "p", DeviceName: id, CdiDevices: []*api.CDIDevice{{Name: "cdi=" + id}}})
	}
	return d
}

func pod(name string, all ...*api.ContainerResources) *api.PodResources {
	return &api.PodResources{Namespace: "ml", Name: name, Containers: all}
}

func list(pods ...*api.PodResources) *api.ListPodResourcesResponse {
	return &api.ListPodResourcesResponse{PodResources: pods}
}

func TestFold(t *testing.T) {
	type step struct {
		can   *api.AllocatableResourcesResponse
		list  *api.ListPodResourcesResponse
		again string
		want  string
	}
	can := &api.AllocatableResourcesResponse{
		CpuIds: []int64{7, 6, 5, 4, 3, 2}, Devices: append(devices(gpu, 1, "g0", "g1"), devices(nic, 0, "n0")...),
		Memory: []*api.ContainerMemory{memory("memory", 900, 1), memory("memory", 700, 0), memory("hugepages-2Mi", 40, 0)},
	}
	fewer := &api.AllocatableResourcesResponse{CpuIds: can.CpuIds, Devices: devices(gpu, 1, "g1"), Memory: can.Memory}
	const described = "node: static Static restricted pod reserved 0-1: 0=0-3 1=4-7 0/hugepages-2Mi 40 of 40 0/memory 700 of 700 1/memory 900 of 900\n"
	const plugins = "node: listed example.com/gpu 2\nnode: listed example.com/nic 1\n"
	train := &api.ContainerResources{
		Name: "cuda", CpuIds: []int64{5, 4}, Memory: []*api.ContainerMemory{memory("memory", 300, 1), memory("hugepages-2Mi", 10, 0)},
		Devices: append(devices(gpu, 1, "g1", "g0"), devices(nic, 0, "n0")...),
	}
	for name, c := range map[string]struct {
		machine Machine
		steps   []step
	}{
		"nothing is exclusive": {Machine{Policies: discover.Policies{CPU: "none", Memory: "None", Topology: "none"}, NUMA: twoNodes.NUMA[:1]}, []step{
			{&api.AllocatableResourcesResponse{}, list(pod("web", &api.ContainerResources{Name: "web"})), "", "node: none None none  reserved : 0=0-3\n"},
			{&api.AllocatableResourcesResponse{}, list(), "", ""},
			{nil, nil, "", ""},
		}},
		"what there was, what comes, what goes": {twoNodes, []step{
			{can, list(pod("train", train)), "", strings.Replace(described, "0/hugepages-2Mi 40 of 40 0/memory 700 of 700 1/memory 900", "0/hugepages-2Mi 30 of 40 0/memory 700 of 700 1/memory 600", 1) + plugins +
				"ml/train/cuda: kept cpu 4-5 on 1\nml/train/cuda: kept memory hugepages-2Mi=10@0 memory=300@1 on 0-1\n" +
				"ml/train/cuda: kept 2 example.com/gpu [g0 g1] on 1\nml/train/cuda: kept 1 example.com/nic [n0] on 0\n"},
			{can, list(pod("train", train)), "", ""},
			{can, list(pod("idle"), pod("train", train), pod("db", &api.ContainerResources{Name: "sql", CpuIds: []int64{2}})), "", "ml/db/sql: granted cpu 2 on 0\n"},
			{nil, list(pod("train", &api.ContainerResources{Name: "cuda", CpuIds: []int64{5, 4}, Devices: devices(gpu, 1, "g0")}), pod("db", &api.ContainerResources{Name: "sql", CpuIds: []int64{2, 3}})), "", "" +
				"ml/train/cuda: released memory unlisted hugepages-2Mi=10@0 memory=300@1 on 0-1 left hugepages-2Mi=40@0 left memory=900@1\nml/train/cuda: released 1 example.com/nic [n0] on 0\n" +
				"ml/db/sql: granted cpu 2-3 on 0\nml/train/cuda: allocated 1 example.com/gpu [g0] on 1\n"},
			{nil, list(), "", "ml/db/sql: released cpu unlisted 2-3 on \nml/train/cuda: released cpu unlisted 4-5 on \nml/train/cuda: released 1 example.com/gpu [g0] on 1\n"},
		}},
		"another pod of the name": {twoNodes, []step{
			{can, list(), "", described + plugins},
			{nil, list(pod("db-0", &api.ContainerResources{Name: "sql", CpuIds: []int64{2}})), "", "ml/db-0/sql: granted cpu 2 on 0\n"},
			{nil, list(pod("db-0", &api.ContainerResources{Name: "sql", CpuIds: []int64{2}})), "", ""},
			{nil, list(pod("db-0", &api.ContainerResources{Name: "sql", CpuIds: []int64{2}})), "ml/db-0", "ml/db-0/sql: granted cpu 2 on 0\n"},
			{nil, list(), "ml/db-0", "ml/db-0/sql: released cpu unlisted 2 on \n"},
		}},
		"memory of several nodes, and of a whole pod": {twoNodes, []step{
			{can, list(), "", described + plugins},
			{nil, list(pod("big", &api.ContainerResources{Name: "a", Memory: []*api.ContainerMemory{memory("memory", 1000, 1, 0)}})), "", "" +
				"ml/big/a: granted memory memory=1000@0-1 on 0-1 left memory=0@0 left memory=600@1\n"},
			{nil, list(&api.PodResources{Namespace: "ml", Name: "big", CpuIds: []int64{2, 3}, Memory: []*api.ContainerMemory{memory("memory", 100, 0)}, Containers: []*api.ContainerResources{
				{Name: "a", CpuIds: []int64{2}, Memory: []*api.ContainerMemory{memory("memory", 60, 0)}},
			}}), "", "ml/big/: granted cpu pod 2-3 on 0\nml/big/: granted memory pod memory=100@0 on 0\n" +
				"ml/big/a: granted cpu pod_exclusive 2 on 0\nml/big/a: granted memory pod_exclusive memory=60@0 on 0 left memory=600@0 left memory=900@1\n"},
		}},
		"devices of the node": {twoNodes, []step{
			{can, list(), "", described + plugins},
			{fewer, list(), "", "node: listed example.com/gpu 1\nnode: listed example.com/nic 0\n"},
			{fewer, list(), "", ""},
			{can, list(), "", plugins},
		}},
		"the machine is not known": {Machine{}, []step{
			{nil, list(), "", "node:     reserved :\n"},
			{can, list(pod("db", &api.ContainerResources{Name: "sql", CpuIds: []int64{2}})), "", "node:     reserved : -1=2-7 0= 1= 0/hugepages-2Mi 40 of 40 0/memory 700 of 700 1/memory 900 of 900\n" + plugins +
				"ml/db/sql: granted cpu 2 on \n"},
		}},
		"claims": {Machine{}, []step{
			{
				nil, list(pod("a", &api.ContainerResources{Name: "x", DynamicResources: []*api.DynamicResource{claim("shared", "d1", "d0")}}, &api.ContainerResources{Name: "y", DynamicResources: []*api.DynamicResource{claim("shared", "d0", "d1")}})),
				"", "node:     reserved :\nclaim ml/shared listed gpu.example.com/p/d0[cdi=d0] gpu.example.com/p/d1[cdi=d1] ml/a[x y]\n",
			},
			{
				nil, list(pod("b", &api.ContainerResources{Name: "x", DynamicResources: []*api.DynamicResource{claim("shared", "d0", "d1"), claim("own")}}), pod("a", &api.ContainerResources{Name: "x", DynamicResources: []*api.DynamicResource{claim("shared")}})),
				"", "claim ml/own listed since 1010 ml/b[x]\nclaim ml/shared listed gpu.example.com/p/d0[cdi=d0] gpu.example.com/p/d1[cdi=d1] ml/a[x] ml/b[x]\n",
			},
			{nil, list(), "", "claim ml/own gone since 1020\nclaim ml/shared gone since 1020\n"},
		}},
		"lies": {twoNodes, []step{
			{
				&api.AllocatableResourcesResponse{CpuIds: []int64{-1, 1 << 40, 2}, Devices: []*api.ContainerDevices{{}, {DeviceIds: []string{"x"}}}, Memory: []*api.ContainerMemory{
					{}, memory("memory", 5), memory("memory", 5, -3), memory("memory", 5, 1<<50), memory("memory", 5, 0, 1), memory("", 5, 0),
				}}, list(&api.PodResources{}, &api.PodResources{Name: "x"}, &api.PodResources{Namespace: "ml"}, pod("web", &api.ContainerResources{CpuIds: []int64{1}},
					&api.ContainerResources{Name: "c", CpuIds: []int64{-1, 1 << 40}, Memory: []*api.ContainerMemory{{}}, Devices: []*api.ContainerDevices{{}, {ResourceName: "r"}}, DynamicResources: []*api.DynamicResource{{}}})),
				"", "node: static Static restricted pod reserved 0-1,3-7: 0=0-3 1=4-7\n",
			},
		}},
		"two pods of one name": {twoNodes, []step{
			{nil, list(pod("db", &api.ContainerResources{Name: "sql", CpuIds: []int64{2}}), pod("db", &api.ContainerResources{Name: "sql", CpuIds: []int64{5}, Devices: devices(gpu, 1, "g0")})), "", "" +
				"node: static Static restricted pod reserved : 0=0-3 1=4-7\nml/db/sql: kept cpu 2,5 on 0-1\nml/db/sql: kept 1 example.com/gpu [g0] on 1\n"},
			{nil, list(pod("db", &api.ContainerResources{Name: "sql", CpuIds: []int64{5}, Devices: devices(gpu, 1, "g0")}), pod("db", &api.ContainerResources{Name: "sql", CpuIds: []int64{2}})), "", ""},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f, last := NewFold(c.machine), time.Time{}
			for i, s := range c.steps {
				at := time.Unix(1000+10*int64(i), 0)
				got, precision := "", 10*time.Second
				if i == 0 {
					precision = time.Hour
				}
				for _, r := range f.Apply(Answer{List: s.list, Allocatable: s.can, At: at, Last: last, Again: map[string]bool{s.again: true}}) {
					got += tell(&r) + "\n"
					if r.Observer != trace.ObserverKubeletAPI || r.Precision.Duration() != precision || r.Time != at.UnixNano() || r.Span == 0 || r.Pod.UID != "" {
						t.Errorf("step %d: got %+v", i, r)
					}
				}
				if d := cmp.Diff(s.want, got); d != "" {
					t.Errorf("step %d: %s", i, d)
				}
				last = at
			}
		})
	}
}

// TestLimits has a kubelet that lists more than is kept, with long names.
func TestLimits(t *testing.T) {
	long := strings.Repeat("n", 10_000)
	c := &api.ContainerResources{Name: long, Devices: []*api.ContainerDevices{{ResourceName: long, DeviceIds: []string{long}}}}
	d := &api.DynamicResource{ClaimNamespace: long, ClaimName: long}
	for i := range 1000 {
		c.Memory = append(c.Memory, memory("memory", uint64(i+1), int64(i)))
		c.Devices = append(c.Devices, devices(fmt.Sprint("r", i), 0, "a")...)
		c.Devices = append(c.Devices, devices("same", 0, fmt.Sprint(i))...)
		d.ClaimResources = append(d.ClaimResources, &api.ClaimResource{DriverName: fmt.Sprint("d", i), CdiDevices: make([]*api.CDIDevice, 100)})
	}
	c.DynamicResources = []*api.DynamicResource{d}
	var pods []*api.PodResources
	for i := range 2 * maxPods {
		pods = append(pods, pod(fmt.Sprint(i), &api.ContainerResources{Name: "c", CpuIds: []int64{1}}))
	}
	pods[0] = &api.PodResources{Namespace: long, Name: long, Containers: []*api.ContainerResources{c}}
	allocations, resources := 0, 0
	for _, r := range NewFold(Machine{}).Apply(Answer{List: list(pods...), Allocatable: &api.AllocatableResourcesResponse{Devices: c.Devices, Memory: c.Memory}, At: time.Unix(1, 0)}) {
		if len(r.Pod.Name) > maxName || len(r.Pod.Namespace) > maxName {
			t.Errorf("got a pod's name of %d bytes", len(r.Pod.Name))
		}
		switch e := r.Event.(type) {
		case *trace.Allocation:
			allocations++
			if e.Manager == trace.ManagerMemory && (len(e.Memory) != maxResources || e.Clipped != 1000-maxResources || len(e.Container) > maxName) {
				t.Errorf("got %d amounts, %d omitted", len(e.Memory), e.Clipped)
			}
		case *trace.DeviceAllocation:
			resources++
			if len(e.IDs) > maxIDs || len(e.Resource) > maxName || len(e.IDs[0]) > maxID || e.Resource == "same" && e.Count != 1000 {
				t.Errorf("got %d devices of %.20s", e.Count, e.Resource)
			}
		case *trace.ClaimDescribed:
			if len(e.Devices) != maxClaimDevices || e.Count != 1000 || len(e.Drivers) != maxClaimDevices || len(e.Devices[0].CDI) != maxCDI || len(e.Name) > maxName {
				t.Errorf("got %d devices of %d", len(e.Devices), e.Count)
			}
		}
	}
	if allocations != maxPods || resources != maxResources {
		t.Errorf("got %d allocations, %d resources of devices", allocations, resources)
	}
}
