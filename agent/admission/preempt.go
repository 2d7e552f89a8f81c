package admission

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/qos"
)

// preempt finds the pods that a critical one preempts. problems are all problems: preemption helps only if all are
// about resources.
//
// Upstream: pkg/kubelet/preemption/preemption.go.
func (in Inputs) preempt(problems []problem) Verdict {
	need := needs{}
	for _, p := range problems {
		if p.resource == "" {
			return p.Verdict
		}
		need[p.resource] = p.short
	}
	tiers := map[v1.PodQOSClass][]*v1.Pod{}
	var all []*v1.Pod
	for _, o := range in.Others {
		if preemptable(in.Pod, o) {
			class := qos.Class(o)
			tiers[class] = append(tiers[class], o)
			all = append(all, o)
		}
	}
	if rest := in.without(need, all); len(rest) > 0 {
		// Upstream uses UnexpectedAdmissionError here; the missing resource is more useful.
		v := problems[0].Verdict
		v.Message += ", and no set of running pods found to reclaim resources: " + rest.String()
		return v
	}
	// A higher class must release what is still missing after all pods of the lower ones have terminated.
	low, mid, high := tiers[v1.PodQOSBestEffort], tiers[v1.PodQOSBurstable], tiers[v1.PodQOSGuaranteed]
	guaranteed := in.nearest(high, in.without(need, slices.Concat(low, mid)))
	burstable := in.nearest(mid, in.without(need, slices.Concat(low, guaranteed)))
	bestEffort := in.nearest(low, in.without(need, slices.Concat(burstable, guaranteed)))
	return Verdict{OK: true, Preempt: slices.Concat(bestEffort, burstable, guaranteed), Short: problems[0].resource}
}

// preemptable: a critical pod preempts pods that are not critical, and critical ones of lower priority.
func preemptable(critical, victim *v1.Pod) bool {
	if podspec.CriticalPod(critical) && !podspec.CriticalPod(victim) {
		return true
	}
	p, v := critical.Spec.Priority, victim.Spec.Priority
	return p != nil && v != nil && *p > *v
}

// needs are the amounts that are still missing.
type needs map[v1.ResourceName]int64

func (n needs) String() string {
	var parts []string
	for name, q := range n {
		parts = append(parts, fmt.Sprintf("(res: %s, q: %d)", name, q))
	}
	slices.Sort(parts)
	return "[" + strings.Join(parts, ", ") + "]"
}

func (in Inputs) gives(pod *v1.Pod, name v1.ResourceName) int64 {
	if name == v1.ResourcePods {
		return 1
	}
	return amount(name, in.requests(pod)[name])
}

// without returns what is missing when those pods are gone.
func (in Inputs) without(n needs, pods []*v1.Pod) needs {
	out := needs{}
	for name, q := range n {
		for _, p := range pods {
			q -= in.gives(p, name)
		}
		if q > 0 {
			out[name] = q
		}
	}
	return out
}

// nearest selects pods until nothing is missing: each time the one that leaves the least, and if equal the smaller one.
func (in Inputs) nearest(pods []*v1.Pod, n needs) []*v1.Pod {
	pods = slices.Clone(pods)
	var out []*v1.Pod
	for len(n) > 0 && len(pods) > 0 {
		best := 0
		for i := range pods {
			d, b := in.distance(pods[i], n), in.distance(pods[best], n)
			if d < b || d == b && in.smaller(pods[i], pods[best]) {
				best = i
			}
		}
		n = in.without(n, pods[best:best+1])
		out = append(out, pods[best])
		pods = slices.Delete(pods, best, best+1)
	}
	return out
}

// distance returns the sum of the squares of the shares that would still be missing.
func (in Inputs) distance(pod *v1.Pod, n needs) float64 {
	sum := 0.0
	for name, q := range n {
		if rest := float64(q - in.gives(pod, name)); rest > 0 {
			sum += rest / float64(q) * rest / float64(q)
		}
	}
	return sum
}

func (in Inputs) smaller(a, b *v1.Pod) bool {
	for _, name := range []v1.ResourceName{v1.ResourceMemory, v1.ResourceCPU} {
		if x, y := in.gives(a, name), in.gives(b, name); x != y {
			return x < y
		}
	}
	return true
}
