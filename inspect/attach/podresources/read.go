package podresources

import (
	"cmp"

	api "k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/utils/cpuset"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// listed is an answer, cut to the limits.
type listed struct {
	held   map[holder]*held
	claims map[claimKey]*trace.ClaimDescribed
}

// reading is an answer that is being read.
type reading struct {
	nodes  map[int]int // of each CPU, the NUMA node
	held   map[holder]*holding
	claims map[claimKey]*claiming
}

// holding is what a container has, as it is read.
type holding struct {
	source  trace.AllocationSource
	cpus    map[int]bool
	memory  []trace.NodeMemory
	devices map[string]*some
}

// read takes of an answer what containers have. Upstream's lists are in no order. nodes says on which NUMA node a CPU is.
func read(list *api.ListPodResourcesResponse, nodes map[int]int) listed {
	r := reading{nodes, map[holder]*holding{}, map[claimKey]*claiming{}}
	pods := list.GetPodResources()
	for _, p := range pods[:min(len(pods), maxPods)] {
		r.pod(p)
	}
	out := listed{map[holder]*held{}, map[claimKey]*trace.ClaimDescribed{}}
	for k, h := range r.held {
		if one := h.held(k.container, nodes); one.cpus != "" || len(one.memory) > 0 || len(one.devices) > 0 {
			out.held[k] = one
		}
	}
	for k, c := range r.claims {
		out.claims[k] = c.described(k)
	}
	return out
}

func (r *reading) pod(p *api.PodResources) {
	pod := trace.Pod{Namespace: trace.Clip(p.GetNamespace(), maxName), Name: trace.Clip(p.GetName(), maxName)}
	if pod.Namespace == "" || pod.Name == "" {
		return
	}
	var source trace.AllocationSource
	if len(p.GetCpuIds()) > 0 || len(p.GetMemory()) > 0 {
		source = trace.SourcePodExclusive
		if h := r.of(holder{pod.Namespace, pod.Name, ""}); h != nil {
			h.source = trace.SourcePod
			h.take(p.GetCpuIds(), p.GetMemory())
		}
	}
	for _, c := range p.GetContainers() {
		name := trace.Clip(c.GetName(), maxName)
		if name == "" {
			continue
		}
		if len(c.GetCpuIds())+len(c.GetMemory())+len(c.GetDevices()) > 0 {
			if h := r.of(holder{pod.Namespace, pod.Name, name}); h != nil {
				h.source = source
				h.take(c.GetCpuIds(), c.GetMemory())
				h.takeDevices(c.GetDevices())
			}
		}
		r.takeClaims(pod, name, c.GetDynamicResources())
	}
}

// of is what a container has; nil if there are too many. The API names pods without a UID: if an old and a new pod have the same name, what
// both have counts.
func (r *reading) of(k holder) *holding {
	h := r.held[k]
	if h == nil && len(r.held) < maxContainers {
		h = &holding{cpus: map[int]bool{}, devices: map[string]*some{}}
		r.held[k] = h
	}
	return h
}

func (h *holding) take(cpus []int64, memory []*api.ContainerMemory) {
	for _, id := range cpus {
		if id >= 0 && id < maxCPU {
			h.cpus[int(id)] = true
		}
	}
	for _, m := range memory {
		b := trace.NodeMemory{Resource: trace.Clip(m.GetMemoryType(), maxName), Bytes: m.GetSize(), Nodes: nodesOf(m.GetTopology())}
		if b.Resource != "" && b.Bytes > 0 {
			h.memory = append(h.memory, b)
		}
	}
}

// held is what was read, in order.
func (h *holding) held(container string, nodes map[int]int) *held {
	on := map[int]bool{}
	for id := range h.cpus {
		if n, known := nodes[id]; known {
			on[n] = true
		}
	}
	sorting.Stable(h.memory, func(a, b *trace.NodeMemory) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Nodes, b.Nodes), cmp.Compare(a.Bytes, b.Bytes))
	})
	most := min(len(h.memory), maxResources)
	return &held{
		source: h.source, cpus: format(h.cpus), nodes: format(on), memory: h.memory[:most], clipped: len(h.memory) - most, devices: h.allDevices(container),
	}
}

// nodesOf are the NUMA nodes of something, in the kernel's format.
func nodesOf(t *api.TopologyInfo) string {
	of := map[int]bool{}
	for _, n := range t.GetNodes() {
		if id := n.GetID(); id >= 0 && id < maxCPU {
			of[int(id)] = true
		}
	}
	return format(of)
}

// format writes numbers in the kernel's format, such as 0-3,8.
func format(of map[int]bool) string {
	ids := make([]int, 0, len(of))
	for id := range of {
		ids = append(ids, id)
	}
	return cpuset.New(ids...).String()
}

// parse is the inverse of format, in ascending order.
func parse(text string) []int {
	set, err := cpuset.Parse(text)
	if err != nil {
		return nil
	}
	return set.List()
}
