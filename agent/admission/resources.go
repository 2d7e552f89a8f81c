package admission

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

func (in Inputs) requests(pod *v1.Pod) v1.ResourceList {
	return resourcehelper.PodRequests(withoutClaimed(pod), in.Claims.Options())
}

// resources returns the problems of a node without enough resources, pods first.
//
// Upstream: pkg/scheduler/framework/plugins/noderesources/fit.go, fitsRequest.
func (in Inputs) resources() []problem {
	var out []problem
	most := int64(in.MaxPods)
	if q, ok := in.Allocatable[v1.ResourcePods]; ok {
		most = q.Value()
	}
	if used := int64(len(in.Others)); most > 0 && used+1 > most {
		out = append(out, insufficient(v1.ResourcePods, 1, used, most))
	}
	if in.Allocatable == nil {
		return out
	}
	want := in.requests(in.Pod)
	taken := map[v1.ResourceName]int64{}
	for _, o := range in.Others {
		for name, q := range in.requests(o) {
			sum := taken[name] + amount(name, q)
			if sum < taken[name] { // more than can be counted
				sum = math.MaxInt64
			}
			taken[name] = sum
		}
	}
	names := make([]v1.ResourceName, 0, len(want))
	for name := range want {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b v1.ResourceName) int { return rank(a) - rank(b) + strings.Compare(string(a), string(b)) })
	for _, name := range names {
		has, known := in.Allocatable[name]
		if !known && extended(name) {
			continue // a resource of the cluster, not of the node
		}
		w, t, h := amount(name, want[name]), taken[name], amount(name, has)
		if w > 0 && w > h-t {
			out = append(out, insufficient(name, w, t, h))
		}
	}
	return out
}

// allocatable returns Allocatable with the extended resources in the node's status and with devices. A resource that had a plugin is there
// without any of it: the status keeps it, so that it is not taken for one of the cluster.
//
// Upstream: pkg/kubelet/lifecycle/predicate.go, Admit; pkg/kubelet/nodestatus/setters.go, MachineInfo.
func (in Inputs) allocatable() v1.ResourceList {
	if in.Allocatable == nil {
		return nil
	}
	out := maps.Clone(in.Allocatable)
	if in.Node != nil {
		for name, q := range in.Node.Status.Allocatable {
			if _, known := out[name]; !known && extended(name) {
				out[name] = q
			}
		}
	}
	if in.Devices != nil {
		in.Devices(out)
	}
	return out
}

// withoutClaimed returns a pod without the requests that a ResourceClaim satisfies, which the scheduler made for its extended resources: they
// are no resources of the node.
//
// Upstream: pkg/kubelet/lifecycle/predicate.go, removeMissingExtendedResources.
func withoutClaimed(pod *v1.Pod) *v1.Pod {
	s := pod.Status.ExtendedResourceClaimStatus
	if s == nil {
		return pod
	}
	pod = pod.DeepCopy()
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			for _, r := range s.RequestMappings {
				if r.ContainerName == list[i].Name {
					delete(list[i].Resources.Requests, v1.ResourceName(r.ResourceName))
				}
			}
		}
	}
	return pod
}

// rank sorts cpu, memory and ephemeral storage first, in the scheduler's order.
func rank(name v1.ResourceName) int {
	first := []v1.ResourceName{v1.ResourceEphemeralStorage, v1.ResourceMemory, v1.ResourceCPU}
	return -10 * (slices.Index(first, name) + 1)
}

// extended reports whether a resource is neither native nor huge pages.
func extended(name v1.ResourceName) bool {
	native := !strings.Contains(string(name), "/") || strings.Contains(string(name), v1.ResourceDefaultNamespacePrefix)
	return !native
}

// amount returns thousandths for CPU, units for others.
func amount(name v1.ResourceName, q resource.Quantity) int64 {
	if name == v1.ResourceCPU {
		return q.MilliValue()
	}
	return q.Value()
}

func insufficient(name v1.ResourceName, want, used, has int64) problem {
	return problem{
		Verdict: Verdict{
			Reason:  "OutOf" + string(name),
			Message: fmt.Sprintf("Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d", name, want, used, has),
		},
		resource: name, short: want - (has - used),
	}
}
