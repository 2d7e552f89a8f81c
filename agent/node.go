package agent

import (
	"context"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/cgroup"
	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/pleg"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// observer is the PLEG's cache with its Refresh.
type observer struct{ p *pleg.PLEG }

// Get implements podruntime.Observer.
func (o observer) Get(uid types.UID) *podstate.Pod { return o.p.Cache().Get(uid) }

// Refresh implements podruntime.Observer.
func (o observer) Refresh(ctx context.Context, uid types.UID) (*podstate.Pod, error) {
	return o.p.Refresh(ctx, uid)
}

// criNode returns the data about this node for CRI configurations.
func (p *parts) criNode() criconfig.Node {
	k := p.cfg.Kubelet
	n := criconfig.Node{
		LogRoot: k.Pods.LogsDir, ClusterDomain: k.DNS.ClusterDomain, MemoryCapacity: p.host.machine.Memory,
		Allocatable:    p.host.resources.Allocatable,
		CFSQuota:       k.Cgroups.CPUQuota,
		CFSPeriod:      k.Cgroups.CPUQuotaPeriod,
		SeccompDefault: k.Pods.SeccompDefault,
		SeccompRoot:    filepath.Join(k.Node.RootDir, "seccomp"),
		HugePageSizes:  cgroup.HugePageSizes("/sys"),
		SELinux:        exists("/sys/fs/selinux/enforce"),
		Sysctls:        k.Kubelet.DefaultPodSysctls,
		Claims:         k.Cgroups.Claims,
		MaskedPaths:    thermalThrottles("/sys"),
		StopSignals:    k.Gates.Enabled("ContainerStopSignals"),
	}
	if !p.cfg.Simulated { // which has no cgroups
		n.CgroupV2, n.SingleProcessOOMKill, n.MemoryQoS = cgroup.Unified(cgroupMount), k.Cgroups.SingleProcessOOMKill, k.Cgroups.MemoryQoS
		n.PodMemory = p.host.resources.Enforced.Memory().Value()
		n.Swap = criconfig.Swap{Accounting: cgroup.CountsSwap(cgroupMount, "/"), Limited: k.Cgroups.LimitedSwap, Capacity: p.host.machine.Swap}
	}
	return n
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// logLinks returns the directory for links to containers' logs, next to the pods' logs: /var/log/containers for
// /var/log/pods.
func (p *parts) logLinks() string {
	return filepath.Join(filepath.Dir(p.cfg.Kubelet.Pods.LogsDir), "containers")
}
