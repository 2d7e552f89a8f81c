package agent

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/kubeloupe/kubeloupe/agent/admission"
	"github.com/kubeloupe/kubeloupe/agent/node"
	"github.com/kubeloupe/kubeloupe/agent/resize"
)

// admission adds data about the node to a pod's admission.
func (p *parts) admission(in *admission.Inputs) {
	p.conditions(in)
	in.NoAppArmor = !p.cfg.Simulated && !node.AppArmor("/")
	if p.cluster.alone() {
		return // a standalone node admits pods without these
	}
	p.object(in)
	in.Fresh = p.self.Fresh
}

// admitResize reports whether an admitted pod fits on the node with the resources that it requests now, and if not, why. It is called under a
// lock: it reads no file, and does not ask the API.
func (p *parts) admitResize(pod *v1.Pod, others []*v1.Pod) resize.Verdict {
	in := admission.Inputs{Pod: pod, Others: others, Allocatable: p.host.resources.Allocatable}
	p.conditions(&in)
	if !p.cluster.alone() {
		p.object(&in)
	}
	v := admission.Resize(in)
	if len(v.Preempt) > 0 {
		return resize.Verdict{
			Reason: v1.PodReasonDeferred, Message: fmt.Sprintf("waits until pods have terminated that are preempted for it: %d", len(v.Preempt)),
			Preemption: resize.Preemption{Victims: v.Preempt, Short: v.Short},
		}
	}
	return resize.Verdict{Fits: v.OK, Reason: v.Reason, Message: v.Message}
}

// conditions adds the state of the node, and what its configuration says.
func (p *parts) conditions(in *admission.Inputs) {
	gates := p.cfg.Kubelet.Gates
	in.MemoryPressure, in.DiskPressure, in.PIDPressure = p.under(v1.NodeMemoryPressure), p.under(v1.NodeDiskPressure), p.under(v1.NodePIDPressure)
	in.Features, in.ShuttingDown = p.host.features, p.shuttingDown()
	in.Claims, in.Sysctls = p.cfg.Kubelet.Cgroups.Claims, p.cfg.Kubelet.Kubelet.AllowedUnsafeSysctls
	in.ScheduledPreemption = gates.Enabled("InPlacePodVerticalScalingSchedulerPreemption")
	in.Comparisons, in.NoPodLevel = gates.Enabled("TaintTolerationComparisonOperators"), !gates.Enabled("PodLevelResources")
}

// object adds the node's object in the API, and its resources.
func (p *parts) object(in *admission.Inputs) {
	in.Node, in.Allocatable = p.self.Object(), p.host.resources.Allocatable
	uid := in.Pod.UID
	in.Devices = func(allocatable v1.ResourceList) { p.pods.devices.Offer(uid, allocatable) }
}

// nodeChanged has the resizes tried again that wait for the node: a condition or a shutdown of it has ended, or its object is another one. It
// does not block.
func (p *parts) nodeChanged() {
	if p.pods.retry != nil && p.pods.resizes.AnyWaiting() {
		p.pods.retry()
	}
}

// placesOtherwise reports whether other pods may be on a node than before: its labels or its taints have changed.
func placesOtherwise(was, is *v1.Node) bool {
	return was == nil || !equality.Semantic.DeepEqual(was.Labels, is.Labels) || !equality.Semantic.DeepEqual(was.Spec.Taints, is.Spec.Taints)
}
