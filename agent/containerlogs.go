package agent

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeloupe/kubeloupe/agent/logs"
)

// addRotation adds the rotation of containers' logs.
func (p *parts) addRotation() error {
	kc := p.cfg.Kubelet.Kubelet
	size, err := resource.ParseQuantity(kc.ContainerLogMaxSize)
	if err != nil {
		return fmt.Errorf("containerLogMaxSize %q: %w", kc.ContainerLogMaxSize, err)
	}
	r, err := logs.NewRotator(logs.RotatorConfig{
		MaxSize: size.Value(), MaxFiles: int(*kc.ContainerLogMaxFiles), Workers: int(*kc.ContainerLogMaxWorkers),
		Interval: kc.ContainerLogMonitorInterval.Duration, Runtime: p.client.Runtime, Bus: p.cfg.Bus,
		Containers: func() []logs.Container { return logs.Running(p.pleg.Cache().All()) },
	})
	if err != nil {
		return err
	}
	p.add("log rotation", r.Run)
	return nil
}
