package admission

// Resize is Check for a pod that is admitted, with the resources that it requests now. Nothing is reserved, and no pod is preempted.
//
// Upstream: pkg/kubelet/allocation/allocation_manager.go, canAdmitPod. There, a critical pod preempts others for its resize, unless the feature
// gate InPlacePodVerticalScalingSchedulerPreemption is on.
func Resize(in Inputs) Verdict {
	if v := checkHard(in); !v.OK {
		return v
	}
	in.Allocatable = in.allocatable()
	if problems := in.freshProblems(); len(problems) > 0 {
		return problems[0].Verdict
	}
	return in.late()
}
