package agent

import (
	"github.com/kubeloupe/kubeloupe/agent/admission"
	"github.com/kubeloupe/kubeloupe/agent/resize"
)

// newResizes creates the manager of allocated resources.
func (p *parts) newResizes() (err error) {
	p.pods.resizes, err = resize.New(resize.Config{
		Dir: p.cfg.Kubelet.Node.RootDir, Events: p.cluster.events, Bus: p.cfg.Bus, Admit: admission.Room{Allocatable: p.host.resources.Allocatable}.Fits,
	})
	return err
}
