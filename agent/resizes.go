package agent

import (
	"context"
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/kubeloupe/kubeloupe/agent/cpus"
	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/memory"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/qos"
	"github.com/kubeloupe/kubeloupe/agent/resize"
	"github.com/kubeloupe/kubeloupe/agent/topology"
	"github.com/kubeloupe/kubeloupe/trace"
)

// newResizes creates the manager of allocated resources.
func (p *parts) newResizes() (err error) {
	kc, gates, node := p.cfg.Kubelet.Kubelet, p.cfg.Kubelet.Gates, p.criNode() // read once: Refuse is called under a lock
	of := policies{
		cpu: kc.CPUManagerPolicy, memory: kc.MemoryManagerPolicy, podLevel: gates.Enabled(gatePodLevel),
		resizesCPUs: gates.Enabled(gateResizeCPUs), resizesMemory: gates.Enabled(gateResizeMemory),
	}
	p.pods.resizes, err = resize.New(resize.Config{
		Dir: p.cfg.Kubelet.Node.RootDir, Events: p.cluster.events, Bus: p.cfg.Bus, Volumes: gates.Enabled(gateResizeVolumes),
		Refuse: func(pod, allocated *v1.Pod) resize.Refusal {
			return refuseResize(of, node, pod, allocated)
		},
		Admit: p.admitResize,
		Try: func(ctx context.Context, pod, allocated *v1.Pod) (func(bool), bool, string) {
			return tryResize(ctx, of, p.host.managers.topology, pod, allocated)
		},
	})
	return err
}

// tryResize has the managers give the pod what it requests for itself now. Without the feature gates, nothing of that changes.
func tryResize(ctx context.Context, of policies, m *topology.Manager, pod, allocated *v1.Pod) (end func(keep bool), infeasible bool, message string) {
	if !of.tries(pod) {
		return func(bool) {}, false, ""
	}
	end, err := m.Resize(ctx, pod, allocated)
	if err != nil {
		refused, ok := errors.AsType[*topology.ResizeError](err)
		return nil, !ok || !refused.Later, err.Error()
	}
	return end, false, ""
}

// The feature gates of resizes. Off by default.
const (
	gateResizeCPUs   = "InPlacePodVerticalScalingExclusiveCPUs"
	gateResizeMemory = "InPlacePodVerticalScalingExclusiveMemory"
	// gateResizeVolumes is that of resizes of emptyDir volumes in memory.
	gateResizeVolumes = "InPlacePodVerticalScalingMemoryBackedVolumes"
)

// policies are those of the managers of CPUs and memory; podLevel says that they give pods what pod-level resources request. resizesCPUs and
// resizesMemory are the feature gates with which a Guaranteed pod can have more or less of them without a restart.
type policies struct {
	cpu, memory                          string
	podLevel, resizesCPUs, resizesMemory bool
}

// tries reports whether the managers must give the pod something else if it is resized.
func (of policies) tries(pod *v1.Pod) bool {
	if qos.Class(pod) != v1.PodQOSGuaranteed || resourcehelper.IsPodLevelResourcesSet(pod) {
		return false
	}
	return of.resizesCPUs && of.cpu == cpus.Static || of.resizesMemory && of.memory == memory.Static
}

// refuseResize says why a pod cannot be resized, whatever is free: a container's swap depends on its memory request, and what a container
// of a Guaranteed pod has for itself does not change while it runs.
//
// Upstream: pkg/kubelet/allocation/handlers.go. It does not compare pod-level resources, so that a pod could have a larger limit than CPUs;
// and with the feature gates, it allows all, although its managers change nothing.
func refuseResize(of policies, node criconfig.Node, pod, allocated *v1.Pod) resize.Refusal {
	guaranteed := qos.Class(pod) == v1.PodQOSGuaranteed
	level := of.podLevel && resourcehelper.IsPodLevelResourcesSet(pod)
	differ := func(name v1.ResourceName) bool {
		return requestsDiffer(pod, allocated, name) || of.podLevel && podRequestDiffers(pod, allocated, name)
	}
	switch {
	case resizesSwap(node, pod, allocated):
		return resize.Refusal{Ground: trace.ResizeOfSwap, Message: "In-place resize of containers with swap is not supported."}
	case !node.CgroupV2 && resizesVolume(pod, allocated):
		return resize.Refusal{Ground: trace.ResizeOfVolumeV1, Message: "Memory-backed emptyDir volume resize is not supported on cgroups v1"}
	case guaranteed && of.cpu == cpus.Static && (!of.resizesCPUs || level) && differ(v1.ResourceCPU):
		return resize.Refusal{Ground: trace.ResizeOfOwnCPUs, Message: `Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"`}
	case guaranteed && of.memory == memory.Static && (!of.resizesMemory || level) && differ(v1.ResourceMemory):
		return resize.Refusal{Ground: trace.ResizeOfOwnMemory, Message: `Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"`}
	}
	return resize.Refusal{}
}

// requestsDiffer reports whether a container requests another amount of the resource.
func requestsDiffer(a, b *v1.Pod, name v1.ResourceName) bool {
	differ := func(x, y []v1.Container) bool {
		for i := range min(len(x), len(y)) {
			p, q := x[i].Resources.Requests[name], y[i].Resources.Requests[name]
			if !p.Equal(q) {
				return true
			}
		}
		return false
	}
	return differ(a.Spec.Containers, b.Spec.Containers) || differ(a.Spec.InitContainers, b.Spec.InitContainers)
}

// resizesVolume reports whether the size limit of a volume in memory changes. Without the feature gate, none does: the allocated pod has the
// limits of the spec.
//
// Upstream: pkg/kubelet/allocation/handlers.go, IsMemoryBackedVolumeResizeRequested. The reason memory_volume_resize_gate_off cannot occur
// there either.
func resizesVolume(a, b *v1.Pod) bool {
	for i := range min(len(a.Spec.Volumes), len(b.Spec.Volumes)) {
		v, w := &a.Spec.Volumes[i], &b.Spec.Volumes[i]
		if podspec.LimitedMemoryVolume(v) && podspec.LimitedMemoryVolume(w) && !v.EmptyDir.SizeLimit.Equal(*w.EmptyDir.SizeLimit) {
			return true
		}
	}
	return false
}

// podRequestDiffers reports whether the pod-level resources request another amount of the resource.
func podRequestDiffers(a, b *v1.Pod, name v1.ResourceName) bool {
	if a.Spec.Resources == nil || b.Spec.Resources == nil {
		return a.Spec.Resources != b.Spec.Resources
	}
	p, q := a.Spec.Resources.Requests[name], b.Spec.Resources.Requests[name]
	return !p.Equal(q)
}

// resizesSwap reports whether the memory request of a container changes that may use swap and is not restarted for it.
func resizesSwap(node criconfig.Node, pod, allocated *v1.Pod) bool {
	swaps := func(want, has []v1.Container) bool {
		for i := range min(len(want), len(has)) {
			w, h := &want[i], &has[i]
			restarts := slices.Contains(h.ResizePolicy, v1.ContainerResizePolicy{ResourceName: v1.ResourceMemory, RestartPolicy: v1.RestartContainer})
			if !w.Resources.Requests.Memory().Equal(*h.Resources.Requests.Memory()) && !restarts && (node.MaySwap(pod, w) || node.MaySwap(allocated, h)) {
				return true
			}
		}
		return false
	}
	return swaps(pod.Spec.Containers, allocated.Spec.Containers) || swaps(pod.Spec.InitContainers, allocated.Spec.InitContainers)
}
