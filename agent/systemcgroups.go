package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// moveEvery is the period in which processes are moved to the cgroups of kubeletCgroups and systemCgroups. Upstream:
// pkg/kubelet/cm/container_manager_linux.go, Start.
const moveEvery = time.Minute

// placeProcesses creates the cgroups of kubeletCgroups and systemCgroups, moves the processes there, and does that again every minute.
func (p *parts) placeProcesses() error {
	kc := p.cfg.Kubelet.Kubelet
	if p.cgroups == nil || kc.KubeletCgroups == "" && kc.SystemCgroups == "" {
		return nil
	}
	for _, place := range []struct{ field, name string }{{"kubeletCgroups", kc.KubeletCgroups}, {"systemCgroups", kc.SystemCgroups}} {
		if place.name == "" {
			continue
		}
		if err := p.cgroups.MakePlace(place.name); err != nil {
			return fmt.Errorf("%s: %w", place.field, err)
		}
	}
	p.add("cgroups of the system", func(ctx context.Context) error {
		said := ""
		for {
			if err := p.moveProcesses(); err == nil {
				said = ""
			} else if text := err.Error(); text != said { // processes with other numbers are another text
				said = text
				trace.Point(p.cfg.Bus, trace.Span{}, trace.Log{Level: trace.LevelWarn, Message: text})
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(moveEvery):
			}
		}
	})
	return nil
}

func (p *parts) moveProcesses() error {
	kc := p.cfg.Kubelet.Kubelet
	var errs []error
	if kc.KubeletCgroups != "" {
		errs = append(errs, p.cgroups.MoveSelf(kc.KubeletCgroups))
	}
	if kc.SystemCgroups != "" {
		errs = append(errs, p.cgroups.MoveSystem(kc.SystemCgroups))
	}
	return errors.Join(errs...)
}
