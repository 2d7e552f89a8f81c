package cgroup

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/qos"
	"github.com/kubeloupe/kubeloupe/trace"
)

// EnsureTiers creates the root, kubepods and the QoS cgroups if they are missing, and sets their limits. EnsurePod does
// this too if one of them was changed.
//
// Upstream: pkg/kubelet/cm/qos_container_manager_linux.go, Start.
func (m *Manager) EnsureTiers(ctx context.Context) error {
	if m == nil {
		return nil
	}
	return m.traced(ctx, trace.CgroupEnsure, m.name(tiers()[0]...), func(*trace.CgroupOp) error {
		if m.v2 && m.cfg.Driver != Systemd {
			if err := m.delegate(m.tree[0].dir); err != nil {
				return err
			}
		}
		for _, root := range m.roots() {
			if err := m.ensure(root, limits{}); err != nil {
				return err
			}
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		for i, l := range m.cfg.planTiers(m.demand) {
			if err := m.ensureTier(m.name(tiers()[i]...), l); err != nil {
				return err
			}
		}
		return nil
	})
}

// EnsurePod creates the pod's cgroup if it is missing, and sets its limits. If its parents were removed, it creates
// them again.
//
// Upstream: pkg/kubelet/cm/pod_container_manager_linux.go, EnsureExists.
func (m *Manager) EnsurePod(ctx context.Context, pod *v1.Pod) error {
	if m == nil {
		return nil
	}
	if err := checkUID(pod.UID); err != nil {
		return err
	}
	if !m.stand(m.name(tierOf(pod)...), m.name(tiers()[0]...)) {
		if err := m.EnsureTiers(ctx); err != nil {
			return err
		}
	}
	return m.traced(ctx, trace.CgroupEnsure, m.PodParent(pod), func(*trace.CgroupOp) error {
		return m.ensure(m.PodParent(pod), m.cfg.planPod(pod))
	})
}

// ResizePod changes the limits of a running pod's cgroup. A nil field is not changed.
//
// Upstream: pkg/kubelet/cm/pod_container_manager_linux.go, SetPodCgroupConfig.
func (m *Manager) ResizePod(ctx context.Context, pod *v1.Pod, r qos.Resources) error {
	if m == nil {
		return nil
	}
	if err := checkUID(pod.UID); err != nil {
		return err
	}
	return m.traced(ctx, trace.CgroupUpdate, m.PodParent(pod), func(*trace.CgroupOp) error {
		return m.ensure(m.PodParent(pod), m.cfg.planResize(pod, r))
	})
}

// traced publishes begin and end of an operation, which may add to the end.
func (m *Manager) traced(ctx context.Context, op trace.CgroupAction, name string, do func(*trace.CgroupOp) error) error {
	e := trace.CgroupOp{Op: op, Path: name}
	span := trace.Begin(m.cfg.Bus, trace.FromContext(ctx), e)
	err := do(&e)
	if err != nil {
		e.Err = err.Error()
		err = fmt.Errorf("%s cgroup %s: %w", op, name, err)
	}
	trace.End(m.cfg.Bus, span, e)
	return err
}
