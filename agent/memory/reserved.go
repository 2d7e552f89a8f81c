package memory

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"

	"github.com/kubeloupe/kubeloupe/agent/numa"
)

// amounts are bytes by resource: memory and hugepages-*.
type amounts map[v1.ResourceName]uint64

// managed reports whether the resource is memory or huge pages.
func managed(name v1.ResourceName) bool {
	return name == v1.ResourceMemory || strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix)
}

// reservedByNode checks reservedMemory: each resource must be reserved on the NUMA nodes with the same total as node allocatable keeps
// free.
//
// Upstream: pkg/kubelet/cm/memorymanager/memory_manager.go, validateReservedMemory.
func reservedByNode(m numa.Machine, kept v1.ResourceList, in []kubeletv1beta1.MemoryReservation) (map[int]amounts, error) {
	out := map[int]amounts{}
	for _, id := range m.IDs() {
		out[id] = amounts{}
	}
	total, sum := map[v1.ResourceName]resource.Quantity{}, uint64(0)
	for _, r := range in {
		of := out[int(r.NumaNode)]
		if of == nil {
			return nil, fmt.Errorf("reservedMemory: this machine has no NUMA node %d", r.NumaNode)
		}
		for name, q := range r.Limits {
			bytes, ok := q.AsInt64()
			if !ok || bytes < 0 {
				return nil, fmt.Errorf("reservedMemory: NUMA node %d: %s: %s is not a number of bytes", r.NumaNode, name, q.String())
			}
			of[name] = uint64(bytes)
			if name == v1.ResourceMemory {
				sum += uint64(bytes)
			}
			of := total[name]
			of.Add(q)
			total[name] = of
		}
	}
	names := maps.Clone(total)
	for name, q := range kept {
		if managed(name) {
			names[name] = q
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		has, want := total[name], kept[name]
		if has.Cmp(want) != 0 {
			return nil, fmt.Errorf("reservedMemory: %s: the total of all NUMA nodes is %s, and must be %s: kubeReserved, systemReserved and evictionHard together",
				name, has.String(), want.String())
		}
	}
	if sum == 0 {
		return nil, errors.New("memoryManagerPolicy Static needs reservedMemory")
	}
	return out, nil
}
