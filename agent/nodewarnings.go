package agent

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/cgroup"
	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/host"
	"github.com/kubeloupe/kubeloupe/agent/volume/memdir"
)

// cgroupV1 is upstream's warning about cgroup v1.
//
// Upstream: pkg/kubelet/cm/container_manager.go, CgroupV1DeprecatedWarning.
const cgroupV1 = "cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. Please migrate to cgroup v2. " +
	"More information at https://git.k8s.io/enhancements/keps/sig-node/5573-remove-cgroup-v1"

// swapped is upstream's warning about memory that is swapped out.
//
// Upstream: pkg/kubelet/cm/container_manager_linux.go, NewContainerManager.
const swapped = "The tmpfs noswap option is not supported. Memory-backed volumes (e.g. secrets, emptyDirs, etc.) " +
	"might be swapped to disk and should no longer be considered secure."

// tellStart sends the Events about the node that follow that of the agent's start.
func (p *parts) tellStart(ctx context.Context) {
	p.tellEnforced(ctx)
	if p.cfg.Simulated {
		return
	}
	for _, w := range nodeWarnings(!cgroup.Unified(cgroupMount), host.SwapIsOn() && !memdir.KeepsFromSwap(), p.dns().Problem()) {
		p.cluster.events.Node(ctx, v1.EventTypeWarning, w.Reason, w.Message)
	}
}

// nodeWarnings returns what is wrong with the node although pods run: it has cgroup v1, volumes in memory can be swapped out, and a problem of
// resolvConf, "" for none.
//
// Upstream: pkg/kubelet/kubelet_linux.go, cgroupVersionCheck; pkg/kubelet/kubelet.go, syncLoop.
func nodeWarnings(v1, swaps bool, resolvConf string) (out []criconfig.Warning) {
	if v1 {
		out = append(out, criconfig.Warning{Reason: "CgroupV1", Message: cgroupV1})
	}
	if swaps {
		out = append(out, criconfig.Warning{Reason: "PossibleMemoryBackedVolumesOnDisk", Message: swapped})
	}
	if resolvConf != "" {
		out = append(out, criconfig.Warning{Reason: "CheckLimitsForResolvConf", Message: resolvConf})
	}
	return out
}
