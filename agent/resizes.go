package agent

import (
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/admission"
	"github.com/kubeloupe/kubeloupe/agent/cpus"
	"github.com/kubeloupe/kubeloupe/agent/memory"
	"github.com/kubeloupe/kubeloupe/agent/qos"
	"github.com/kubeloupe/kubeloupe/agent/resize"
)

// newResizes creates the manager of allocated resources.
func (p *parts) newResizes() (err error) {
	p.pods.resizes, err = resize.New(resize.Config{
		Dir: p.cfg.Kubelet.Node.RootDir, Events: p.cluster.events, Bus: p.cfg.Bus, Pinned: p.pinned, Admit: admission.Room{Allocatable: p.host.resources.Allocatable}.Fits,
	})
	return err
}

// pinned says why a Guaranteed pod cannot be resized: what a container has for itself does not change while it runs.
//
// Upstream: pkg/kubelet/allocation/handlers.go.
func (p *parts) pinned(pod, allocated *v1.Pod) string {
	kc := p.cfg.Kubelet.Kubelet
	switch {
	case qos.Class(pod) != v1.PodQOSGuaranteed:
	case kc.CPUManagerPolicy == cpus.Static && requestsDiffer(pod, allocated, v1.ResourceCPU):
		return `Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"`
	case kc.MemoryManagerPolicy == memory.Static && requestsDiffer(pod, allocated, v1.ResourceMemory):
		return `Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"`
	}
	return ""
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
