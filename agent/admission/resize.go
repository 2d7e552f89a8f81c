package admission

import "github.com/kubeloupe/kubeloupe/agent/podspec"

// Resize is Check for a pod that is admitted, with the resources that it requests now. Nothing is reserved.
//
// Upstream: pkg/kubelet/allocation/allocation_manager.go, canAdmitPod; pkg/kubelet/preemption/preemption.go, HandleAdmissionFailure.
func Resize(in Inputs) Verdict {
	if v := checkHard(in); !v.OK {
		return v
	}
	return in.rest(podspec.CriticalPod(in.Pod) && !in.ScheduledPreemption)
}
