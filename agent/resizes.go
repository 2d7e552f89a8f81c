package agent

import (
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/admit"
	"github.com/kubeloupe/kubeloupe/agent/resize"
)

// newResizes keeps what pods have been allocated.
func (p *parts) newResizes() (err error) {
	p.resizes, err = resize.New(resize.Config{
		Dir: p.cfg.Kubelet.Node.RootDir, Events: p.cluster.events, Bus: p.cfg.Bus, Admit: p.fits,
	})
	return err
}

// fits reports whether a pod as it asks to be fits beside the others. What does not fit an empty node never will.
//
// Upstream: pkg/kubelet/allocation/allocation_manager.go, canResizePod.
func (p *parts) fits(pod *v1.Pod, others []*v1.Pod) (fits, infeasible bool, message string) {
	in := admit.Inputs{Pod: pod, Others: others, Allocatable: p.resources.Allocatable}
	v := admit.Resources(in)
	if v.OK {
		return true, false, ""
	}
	in.Others = nil
	return false, !admit.Resources(in).OK, v.Message
}
