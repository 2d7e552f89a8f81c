package podresources

import (
	"k8s.io/apimachinery/pkg/types"
	api "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/kubeloupe/kubeloupe/agent/memory/state"
)

// CPUs are the CPUs that containers have for themselves, by number, in ascending order.
type CPUs interface {
	// Exclusive returns those of a container, none if it shares CPUs with others.
	Exclusive(pod types.UID, container string) []int
	// OfPod returns those that a pod with pod-level resources has for all of its containers, none if it has none.
	OfPod(pod types.UID) []int
	// Allocatable returns those that containers can have.
	Allocatable() []int
}

// Memory is the memory of NUMA nodes that containers have for themselves.
type Memory interface {
	// Blocks returns that of a container.
	Blocks(pod types.UID, container string) []state.Block
	// OfPod returns that of a pod with pod-level resources, for all of its containers; none if it has none.
	OfPod(pod types.UID) []state.Block
	// Allocatable returns what containers can have.
	Allocatable() []state.Block
}

func numbers(list []int) (out []int64) {
	for _, n := range list {
		out = append(out, int64(n))
	}
	return out
}

// memoryOf returns blocks as the API has them.
//
// Upstream: pkg/kubelet/cm/container_manager_linux.go, containerMemoryFromBlock.
func memoryOf(blocks []state.Block) (out []*api.ContainerMemory) {
	for _, b := range blocks {
		m := &api.ContainerMemory{MemoryType: string(b.Type), Size: b.Size, Topology: &api.TopologyInfo{}}
		for _, n := range b.NUMAAffinity {
			m.Topology.Nodes = append(m.Topology.Nodes, &api.NUMANode{ID: int64(n)})
		}
		out = append(out, m)
	}
	return out
}
