package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/allocatable"
	"github.com/kubeloupe/kubeloupe/agent/cgroup"
	"github.com/kubeloupe/kubeloupe/agent/cpus"
	"github.com/kubeloupe/kubeloupe/trace"
)

// cgroupMount is where the kernel's cgroups are.
const cgroupMount = "/sys/fs/cgroup"

// newCgroups creates the manager of cgroups, unless no cgroups are created: the simulated runtime needs none.
func (p *parts) newCgroups(ctx context.Context) error {
	k := p.cfg.Kubelet.Cgroups
	if p.cfg.Simulated || !k.PerQOS {
		return nil
	}
	told, err := cgroup.RuntimeDriver(ctx, p.client.Runtime)
	if err != nil {
		return err
	}
	driver, warnings := chooseDriver(told, cgroup.Driver(k.Driver), k.DriverFrom)
	reserved, err := p.reservedCgroups()
	if err != nil {
		return err
	}
	for _, text := range append(warnings, p.cgroupWarnings(cgroup.Unified(cgroupMount))...) {
		trace.Point(p.cfg.Bus, trace.Span{}, trace.Log{Level: trace.LevelWarn, Message: text})
	}
	p.cgroups, err = cgroup.New(cgroup.Config{
		Mount: cgroupMount, Root: k.Root, Driver: driver, Bus: p.cfg.Bus, PodPidsLimit: k.PodPidsLimit, CFSQuota: k.CPUQuota, CFSPeriod: k.CPUQuotaPeriod, OwnCPUs: p.host.managers.Own,
		Node: p.podLimits(), CPUs: p.unmanagedCPUs(), Allocatable: p.host.resources.Enforced.Memory().Value(),
		HugePageSizes: cgroup.HugePageSizes("/sys"), MemoryQoS: k.MemoryQoS, Claims: k.Claims, QOSReserved: k.QOSReserved, Reserved: reserved,
	})
	if _, none := errors.AsType[*cgroup.UnavailableError](err); none {
		return fmt.Errorf("%w\n  remedy: run as root, or use --runtime sim", err)
	}
	return err
}

// chooseDriver returns the runtime's driver or, if the runtime does not tell it, the configured one. from is what set the
// latter; "" is the default.
func chooseDriver(told, configured cgroup.Driver, from string) (driver cgroup.Driver, warnings []string) {
	const where = "containerd: SystemdCgroup, CRI-O: cgroup_manager"
	switch {
	case told == "":
		return configured, []string{fmt.Sprintf("the container runtime does not tell its cgroup driver, so that cgroupDriver %s is used; "+
			"pods cannot start if the runtime has another one (%s)", configured, where)}
	case told != configured && from != "":
		return told, []string{fmt.Sprintf("cgroupDriver %s in %s is ignored, because the container runtime uses %s; "+
			"set cgroupDriver to %[3]s, or change the runtime's driver (%s)", configured, from, told, where)}
	}
	return told, nil
}

// podLimits returns the limits of all pods together: the node without the reservations or, if they are not enforced, the
// whole node. If all CPUs are reserved, the weight is the least one, and not the kernel's default.
//
// Upstream: pkg/kubelet/cm/node_container_manager_linux.go, enforceNodeAllocatableCgroups.
func (p *parts) podLimits() cgroup.Limits {
	if p.enforcesPods() {
		l := limitsOf(p.host.resources.Enforced)
		l.MilliCPU = max(l.MilliCPU, 1)
		return l
	}
	l := limitsOf(p.host.resources.Capacity)
	l.Pids = p.host.machine.MaxPIDs
	return l
}

// unmanagedCPUs returns the CPUs that kubepods and the cgroups of the system get, so that systemd knows of them: all. With the policy static, the
// agent does not set the CPUs of these cgroups, which an administrator may have limited.
//
// Upstream: pkg/kubelet/cm/node_container_manager_linux.go, getCgroupConfig.
func (p *parts) unmanagedCPUs() string {
	if p.cfg.Kubelet.Kubelet.CPUManagerPolicy == cpus.Static {
		return ""
	}
	return p.host.machine.CPUList
}

func limitsOf(list v1.ResourceList) cgroup.Limits {
	pids := list[allocatable.PIDs]
	return cgroup.Limits{MilliCPU: list.Cpu().MilliValue(), Memory: list.Memory().Value(), Pids: pids.Value()}
}

// reservedCgroups returns the cgroups of the system whose reservations are enforced.
func (p *parts) reservedCgroups() ([]cgroup.Reserved, error) {
	kc, has := p.cfg.Kubelet.Kubelet, p.host.resources
	var out []cgroup.Reserved
	for _, word := range kc.EnforceNodeAllocatable {
		base, compressible := strings.CutSuffix(word, "-compressible")
		r, field, list := cgroup.Reserved{Compressible: compressible}, "", v1.ResourceList(nil)
		switch base {
		case "system-reserved":
			r.Field, r.Name, field, list = "systemReservedCgroup", kc.SystemReservedCgroup, "systemReserved", has.SystemReserved
		case "kube-reserved":
			r.Field, r.Name, field, list = "kubeReservedCgroup", kc.KubeReservedCgroup, "kubeReserved", has.KubeReserved
		default:
			continue
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("%s: must have an amount, because enforceNodeAllocatable has %q", field, word)
		}
		r.Limits = limitsOf(list)
		out = append(out, r)
	}
	return out, nil
}

// ensureCgroups creates the cgroups of all pods and sets the limits of those of the system.
//
// Upstream: pkg/kubelet/cm/node_container_manager_linux.go, enforceNodeAllocatableCgroups.
func (p *parts) ensureCgroups(ctx context.Context) error {
	if p.cgroups == nil {
		return nil
	}
	p.add("limit of all pods", p.keepLimit)
	if err := errors.Join(p.cgroups.EnsureTiers(ctx), p.cgroups.EnsureReserved(ctx), p.placeProcesses()); err != nil {
		return err
	}
	if p.cluster.alone() {
		p.tellStart(ctx)
	}
	return nil
}

// tellEnforced sends the Events about the limits that ensureCgroups has set. In a cluster, they follow the Event of the agent's start.
func (p *parts) tellEnforced(ctx context.Context) {
	if p.cgroups == nil {
		return
	}
	p.tellLimit(ctx, p.cgroups.Refused())
	enforced := func(text string) { p.cluster.events.Node(ctx, v1.EventTypeNormal, "NodeAllocatableEnforced", text) }
	for _, r := range p.cgroups.Reserved() {
		what := "system"
		if r.Field == "kubeReservedCgroup" {
			what = "kube"
		}
		enforced("Updated limits on " + what + " reserved cgroup " + r.Name)
	}
}

// tellLimit sends the Event about the limit of all pods together, which was set or refused. Without pods in enforceNodeAllocatable, the limit is
// the whole node.
func (p *parts) tellLimit(ctx context.Context, err error) {
	if err != nil {
		p.cluster.events.Node(ctx, v1.EventTypeWarning, "FailedNodeAllocatableEnforcement", fmt.Sprintf("Failed to update Node Allocatable Limits %q: %v", p.cgroups.AllPods(), err))
		return
	}
	p.cluster.events.Node(ctx, v1.EventTypeNormal, "NodeAllocatableEnforced", "Updated Node Allocatable limit across pods")
}

// keepLimit sets the limit of all pods again while the kernel refuses it.
func (p *parts) keepLimit(ctx context.Context) error {
	if p.cgroups.Refused() == nil {
		return nil
	}
	return retryLimit(ctx, p.cgroups.RetryRefused, p.tellLimit)
}

// limitRetry is the time between two attempts.
//
// Upstream: pkg/kubelet/cm/node_container_manager_linux.go, enforceNodeAllocatableCgroups.
const limitRetry = time.Minute

// retryLimit calls set every minute until it succeeds or ctx ends, and tells the result of each attempt.
func retryLimit(ctx context.Context, set func(context.Context) error, tell func(context.Context, error)) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(limitRetry):
		}
		err := set(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it ended
		}
		tell(ctx, err)
		if err == nil {
			return nil
		}
	}
}

// cgroupWarnings returns what the configuration asks for and the node or a feature gate does not allow.
func (p *parts) cgroupWarnings(v2 bool) []string {
	k := p.cfg.Kubelet
	var out []string
	if len(k.Kubelet.QOSReserved) > 0 && k.Cgroups.QOSReserved == nil {
		out = append(out, "qosReserved needs the feature gate QOSReserved, which is off, and is ignored")
	}
	if q := k.Cgroups.MemoryQoS; q != nil && !v2 && (q.Tiered || q.Throttling != nil) {
		out = append(out, "memoryReservationPolicy and memoryThrottlingFactor need cgroup v2 and are ignored; this node has cgroup v1")
	}
	return out
}

// enforcesPods reports whether all pods together are limited.
func (p *parts) enforcesPods() bool {
	return slices.Contains(p.cfg.Kubelet.Kubelet.EnforceNodeAllocatable, "pods")
}
