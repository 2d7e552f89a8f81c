// Package admission decides whether the node admits a pod.
//
// It owns the checks, which are pure: node name, selector and affinity, taints, resources, ports, OS, sysctls, AppArmor, features that the
// node declares, which pods a critical one preempts, and that a node that shuts down takes none. It never acts and runs no goroutine; the
// caller publishes the verdict as a Decision.
//
// Upstream: pkg/kubelet/lifecycle/predicate.go, pkg/kubelet/sysctl/allowlist.go, pkg/kubelet/preemption.
package admission

import (
	"fmt"
	"runtime"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/klog/v2"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/qos"
)

// Verdict is the decision about a pod.
type Verdict struct {
	OK bool
	// Reason is the CamelCase reason in a rejected pod's status.
	Reason  string
	Message string
	// Detail is for the operator of the node only: it is in no status. It may be about another pod.
	Detail string
	// Preempt are the pods that must terminate first; only for a critical pod that fits otherwise.
	Preempt []*v1.Pod
	// Short is a resource of which there is too little until they have terminated.
	Short v1.ResourceName
}

// Inputs are the inputs of the verdict.
type Inputs struct {
	Pod *v1.Pod
	// Others are the admitted pods that are not finished.
	Others []*v1.Pod
	// MaxPods is the maximum number of pods; 0 means no limit. Allocatable overrides it.
	MaxPods int
	// Node is the node's object in the API, or as the agent would register it; if nil, labels and taints are not
	// checked.
	Node *v1.Node
	// Fresh returns the node's object as the API has it now; nil if that is not known. It is called if only the node's labels do not match,
	// because Node may be too old. May be nil.
	Fresh func() *v1.Node
	// Allocatable is the total that pods may request; if nil, resources are not checked. Check adds the extended resources of Node.
	Allocatable v1.ResourceList
	// Devices sets in a list of allocatable resources how many devices of device plugins there are for the pod. Check calls it after
	// Reserve. May be nil.
	Devices func(allocatable v1.ResourceList)
	// Sysctls are allowed in addition to the safe ones; a name may end in *.
	Sysctls []string
	// MemoryPressure, DiskPressure and PIDPressure are the node's pressure conditions.
	MemoryPressure, DiskPressure, PIDPressure bool
	// Comparisons is the feature gate TaintTolerationComparisonOperators: tolerations can have the operators Lt and Gt.
	Comparisons bool
	// ScheduledPreemption is the feature gate InPlacePodVerticalScalingSchedulerPreemption: the scheduler preempts pods for resizes, not the agent.
	ScheduledPreemption bool
	// NoPodLevel says that the feature gate PodLevelResources is off.
	NoPodLevel bool
	// NoAppArmor says that the kernel has no AppArmor, or that it is disabled.
	NoAppArmor bool
	// Features are those that the node declares; nil means that pods may need any.
	Features *Features
	// ShuttingDown says that the node is shutting down.
	ShuttingDown bool
	// Claims says whether the resources count that pods have by ResourceClaims.
	Claims qos.Claims
	// Reserve reserves what managers of the node give to single pods, such as CPUs and devices; its verdict says whether they can. May
	// be nil. Check calls it after the checks for which preemption does not help, as upstream; if Check rejects the pod later, the caller
	// releases what was reserved.
	Reserve func() Verdict
}

// problem is one reason for a rejection.
type problem struct {
	Verdict
	// short is the missing amount of the resource, for preemption.
	resource v1.ResourceName
	short    int64
}

// Check returns the first problem, in upstream's order, except that the managers come after the checks of the OS and of groups: they give
// nothing to a pod that no node of this kind takes.
//
// Upstream: pkg/kubelet/kubelet.go, NewMainKubelet (AddPodAdmitHandlers).
func Check(in Inputs) Verdict {
	if v := checkHard(in); !v.OK {
		return v
	}
	if in.Reserve != nil {
		if v := in.Reserve(); !v.OK {
			return v
		}
	}
	return in.rest(podspec.CriticalPod(in.Pod))
}

// rest runs the checks that follow those of checkHard. preempts says that other pods can be preempted for the pod.
func (in Inputs) rest(preempts bool) Verdict {
	in.Allocatable = in.allocatable()
	v := Verdict{OK: true}
	if problems := in.freshProblems(); len(problems) > 0 {
		v = problems[0].Verdict
		if preempts {
			v = in.preempt(problems)
		}
	}
	if !v.OK {
		return v
	}
	if late := in.late(); !late.OK { // no pod is preempted for one that is rejected
		return late
	}
	return v
}

// late runs the checks that follow all others.
func (in Inputs) late() Verdict {
	if v := in.appArmor(); !v.OK {
		return v
	}
	if in.NoPodLevel && resourcehelper.IsPodLevelResourcesSet(in.Pod) {
		return Verdict{Reason: "PodLevelResourcesNotSupported", Message: "PodLevelResources feature gate is disabled"}
	}
	if v := in.features(); !v.OK {
		return v
	}
	if in.ShuttingDown {
		return shuttingDown()
	}
	return Verdict{OK: true}
}

// problems returns what speaks against the pod on this node, in upstream's order.
func (in Inputs) problems() []problem {
	return slices.Concat(in.resources(), in.affinity(), in.ports(), in.taints())
}

// freshProblems returns the problems. If the node's labels are the only one, they are checked again with those that the API has now.
//
// Upstream: pkg/kubelet/lifecycle/predicate.go, generalFilter.
func (in Inputs) freshProblems() []problem {
	problems := in.problems()
	other := func(p problem) bool { return p.Reason != nodeAffinity }
	if len(problems) == 0 || in.Fresh == nil || slices.ContainsFunc(problems, other) {
		return problems
	}
	if node := in.Fresh(); node != nil {
		in.Node = node
		return in.problems()
	}
	return problems
}

// shuttingDown rejects every pod.
//
// Upstream: pkg/kubelet/nodeshutdown/nodeshutdown_manager_linux.go, Admit.
func shuttingDown() Verdict {
	return Verdict{Reason: "NodeShutdown", Message: "Pod was rejected as the node is shutting down."}
}

// checkHard runs the checks for which preemption does not help.
func checkHard(in Inputs) Verdict {
	if v := in.pressure(); !v.OK {
		return v
	}
	if v := in.sysctls(); !v.OK {
		return v
	}
	pod := in.Pod
	if os, ok := pod.Labels[v1.LabelOSStable]; ok && os != runtime.GOOS {
		return Verdict{Reason: "PodOSSelectorNodeLabelDoesNotMatch", Message: "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"}
	}
	if os := pod.Spec.OS; os != nil && string(os.Name) != runtime.GOOS {
		return Verdict{
			Reason: "PodOSNotSupported", Message: "Failed to admit pod as the OS field doesn't match node OS",
			Detail: fmt.Sprintf("the field is %q, the node's OS is %s", os.Name, runtime.GOOS),
		}
	}
	if in.Node != nil && strictGroups(pod) && !supportsGroupsPolicy(in.Node) {
		return Verdict{
			Reason:  "SupplementalGroupsPolicyNotSupported",
			Message: fmt.Sprintf("SupplementalGroupsPolicy=%s is not supported in this node", v1.SupplementalGroupsPolicyStrict),
		}
	}
	return Verdict{OK: true}
}

// pressure rejects new pods while the node is under pressure: all except critical ones; under memory pressure only
// those without requests that do not tolerate it.
//
// Upstream: pkg/kubelet/eviction/eviction_manager.go, Admit.
func (in Inputs) pressure() Verdict {
	if podspec.CriticalPod(in.Pod) || !in.MemoryPressure && !in.DiskPressure && !in.PIDPressure {
		return Verdict{OK: true}
	}
	if !in.DiskPressure && !in.PIDPressure {
		taint := &v1.Taint{Key: v1.TaintNodeMemoryPressure, Effect: v1.TaintEffectNoSchedule}
		tolerated := slices.ContainsFunc(in.Pod.Spec.Tolerations, func(t v1.Toleration) bool { return t.ToleratesTaint(klog.Background(), taint, in.Comparisons) })
		if qos.Class(in.Pod) != v1.PodQOSBestEffort || tolerated {
			return Verdict{OK: true}
		}
	}
	var has []string
	if in.MemoryPressure {
		has = append(has, string(v1.NodeMemoryPressure))
	}
	if in.DiskPressure {
		has = append(has, string(v1.NodeDiskPressure))
	}
	if in.PIDPressure {
		has = append(has, string(v1.NodePIDPressure))
	}
	return Verdict{Reason: "Evicted", Message: fmt.Sprintf("The node had condition: %v. ", has)}
}

func strictGroups(pod *v1.Pod) bool {
	sc := pod.Spec.SecurityContext
	return sc != nil && sc.SupplementalGroupsPolicy != nil && *sc.SupplementalGroupsPolicy == v1.SupplementalGroupsPolicyStrict
}

func supportsGroupsPolicy(node *v1.Node) bool {
	f := node.Status.Features
	return f != nil && f.SupplementalGroupsPolicy != nil && *f.SupplementalGroupsPolicy
}

// predicate returns a problem with a name that the scheduler also uses.
func predicate(name, detail string) problem {
	return problem{Verdict: Verdict{Reason: name, Message: "Predicate " + name + " failed: " + detail}}
}
