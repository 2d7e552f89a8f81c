package agent

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/admission"
	"github.com/kubeloupe/kubeloupe/agent/cpus"
	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/memory"
	"github.com/kubeloupe/kubeloupe/agent/qos"
	"github.com/kubeloupe/kubeloupe/agent/resize"
	"github.com/kubeloupe/kubeloupe/trace"
)

// newResizes creates the manager of allocated resources.
func (p *parts) newResizes() (err error) {
	kc, node := p.cfg.Kubelet.Kubelet, p.criNode() // read once: Refuse is called under a lock
	of := policies{kc.CPUManagerPolicy, kc.MemoryManagerPolicy, p.cfg.Kubelet.Gates.Enabled(gatePodLevel)}
	p.pods.resizes, err = resize.New(resize.Config{
		Dir: p.cfg.Kubelet.Node.RootDir, Events: p.cluster.events, Bus: p.cfg.Bus, Refuse: func(pod, allocated *v1.Pod) resize.Refusal {
			return refuseResize(of, node, pod, allocated)
		},
		Admit: admission.Room{Allocatable: p.host.resources.Allocatable, Claims: p.cfg.Kubelet.Cgroups.Claims}.Fits,
	})
	return err
}

// policies are those of the managers of CPUs and memory; podLevel says that they give pods what pod-level resources request.
type policies struct {
	cpu, memory string
	podLevel    bool
}

// refuseResize says why a pod cannot be resized, whatever is free: a container's swap depends on its memory request, and what a container
// of a Guaranteed pod has for itself does not change while it runs.
//
// Upstream: pkg/kubelet/allocation/handlers.go. It does not compare pod-level resources, so that a pod could have a larger limit than CPUs.
func refuseResize(of policies, node criconfig.Node, pod, allocated *v1.Pod) resize.Refusal {
	guaranteed := qos.Class(pod) == v1.PodQOSGuaranteed
	differ := func(name v1.ResourceName) bool {
		return requestsDiffer(pod, allocated, name) || of.podLevel && podRequestDiffers(pod, allocated, name)
	}
	switch {
	case resizesSwap(node, pod, allocated):
		return resize.Refusal{Ground: trace.ResizeOfSwap, Message: "In-place resize of containers with swap is not supported."}
	case guaranteed && of.cpu == cpus.Static && differ(v1.ResourceCPU):
		return resize.Refusal{Ground: trace.ResizeOfOwnCPUs, Message: `Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"`}
	case guaranteed && of.memory == memory.Static && differ(v1.ResourceMemory):
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
