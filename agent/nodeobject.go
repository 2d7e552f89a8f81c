package agent

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/allocatable"
	"github.com/kubeloupe/kubeloupe/agent/cgroup"
	"github.com/kubeloupe/kubeloupe/agent/node"
	"github.com/kubeloupe/kubeloupe/trace"
)

func simulatedMachine() allocatable.Machine {
	return allocatable.Machine{CPUs: int64(runtime.NumCPU()), Memory: 16 << 30, Disk: simulatedDisk}
}

// readMachine reads the machine's resources, and which of them pods may request.
func (p *parts) readMachine() (err error) {
	k := p.cfg.Kubelet
	p.host.machine, err = allocatable.ReadMachine("/", k.Node.RootDir)
	switch {
	case err != nil && p.cfg.Simulated:
		p.host.machine = simulatedMachine() // not Linux: only the simulated runtime
	case err != nil:
		return fmt.Errorf("read what the machine has: %w", err)
	}
	evict := k.Kubelet.EvictionHard
	if k.API.IgnoreEviction {
		evict = nil
	}
	p.host.resources, err = allocatable.Compute(p.host.machine, allocatable.Config{
		MaxPods: k.Pods.Max, PodsPerCore: k.Kubelet.PodsPerCore,
		KubeReserved: k.Kubelet.KubeReserved, SystemReserved: k.Kubelet.SystemReserved, EvictionHard: evict, ReservedCPUs: k.Kubelet.ReservedSystemCPUs,
		NoStorage: !p.isolatesStorage(),
	})
	return err
}

// isolatesStorage reports whether ephemeral-storage is a resource of the node, with limits for pods.
func (p *parts) isolatesStorage() bool {
	is := p.cfg.Kubelet.Kubelet.LocalStorageCapacityIsolation
	return is == nil || *is
}

// newNode creates the node's object in the API.
func (p *parts) newNode() error {
	c, k := p.cluster, p.cfg.Kubelet
	kc := k.Kubelet
	n, err := node.New(node.Config{
		Name: p.cfg.NodeName, Self: p.self, Client: c.clients.Main, Heartbeat: c.clients.Heartbeat,
		NoRegister: !*kc.RegisterNode, Labels: k.Node.Labels, Taints: kc.RegisterWithTaints, ProviderID: kc.ProviderID,
		ExternalCloud: k.Node.ExternalCloud,
		OnlyExisting:  k.Gates.Enabled("KubeletRegistrationGetOnExistsOnly"),
		AttachDetach:  *kc.EnableControllerAttachDetach, IPs: nodeIPs(k.Node.IPs),
		Info: p.nodeInfo(), Port: kc.Port,
		Declared:  p.host.declared,
		Cgroups:   p.cgroupsInUse(),
		NoStorage: !p.isolatesStorage(),
		MaxImages: *kc.NodeStatusMaxImages,
		Resources: p.resources, Fresh: p.pods.devices.Fresh,
		Images:   func(ctx context.Context) ([]node.Image, error) { return node.ListImages(ctx, p.client.Image) },
		Runtime:  p.runtime,
		NotReady: p.notReady, Warning: p.softRequirement(), Pressure: p.pressure,
		VolumesInUse:    func() ([]v1.UniqueVolumeName, bool) { return p.volumes.InUse(), p.pods.manager.SourcesReady() },
		Seen:            p.seenNode,
		HeartbeatFailed: c.clients.CloseIdle,
		StatusFrequency: kc.NodeStatusUpdateFrequency.Duration, ReportFrequency: kc.NodeStatusReportFrequency.Duration,
		LeaseDuration: seconds(kc.NodeLeaseDurationSeconds), Events: c.events, Started: p.tellStart, Bus: p.cfg.Bus,
	})
	if err != nil {
		return err
	}
	p.add("node", n.Run)
	p.add("node readiness", func(ctx context.Context) error { return p.state.Follow(ctx, p.self.Changed) })
	return nil
}

// nodeInfo describes the machine for the node's status.
//
// Upstream: pkg/kubelet/nodestatus/setters.go, MachineInfo.
func (p *parts) nodeInfo() v1.NodeSystemInfo {
	info := node.ReadInfo("/", p.cfg.Version, p.host.machine.Swap)
	if p.cfg.Kubelet.Gates.Enabled("KubeletInUserNamespace") {
		info.RunningInUserNamespace = new(node.InUserNamespace("/"))
	}
	return info
}

// softRequirement returns what the kernel lacks although pods can run; "" for nothing.
//
// Upstream: pkg/kubelet/cm/container_manager_linux.go, setupNode.
func (p *parts) softRequirement() string {
	if p.cfg.Simulated || cgroup.LimitsCPU(cgroupMount) {
		return ""
	}
	return "CPU hardcapping unsupported"
}

// resources returns the node's capacity and allocatable, with its devices.
func (p *parts) resources() (capacity, allocatable v1.ResourceList) {
	capacity, allocatable = maps.Clone(p.host.resources.Capacity), maps.Clone(p.host.resources.Allocatable)
	moreCapacity, moreAllocatable := p.pods.devices.Capacity()
	maps.Copy(capacity, moreCapacity)
	maps.Copy(allocatable, moreAllocatable)
	return capacity, allocatable
}

// describeStandalone publishes the description of a node without an object in the API. Only its devices change while the agent runs.
func (p *parts) describeStandalone() {
	info, runtime := node.ReadInfo("/", p.cfg.Version, p.host.machine.Swap), p.runtime()
	a := node.NewAlone(p.self, func() trace.NodeDescribed {
		capacity, allocatable := p.resources()
		return node.Standalone(p.cfg.NodeName, info, runtime, p.hostIPs(), capacity, allocatable, p.cgroupsInUse())
	}, p.cfg.Bus)
	a.Tell()
	p.add("node description", a.Run)
}

// cgroupsInUse returns the kind of cgroups on this node.
func (p *parts) cgroupsInUse() node.Cgroups {
	switch {
	case p.cgroups == nil:
		return node.Cgroups{}
	case p.cgroups.V2():
		return node.Cgroups{Version: 2, Driver: string(p.cgroups.Driver())}
	}
	return node.Cgroups{Version: 1, Driver: string(p.cgroups.Driver())}
}

// seenNode passes on the node's object from the API.
func (p *parts) seenNode(n *v1.Node) {
	p.volumes.MarkInUse(n.Status.VolumesInUse)
	p.host.podCIDR.Set(n.Spec.PodCIDRs)
	p.cluster.mirrors.Wake()
	p.addressesSeen()
	if was := p.pods.seen.Swap(n); placesOtherwise(was, n) {
		p.nodeChanged()
	}
	if p.port.serving != nil {
		p.port.serving.Changed()
	}
}

// runtime returns what the runtime reports about itself.
func (p *parts) runtime() node.Runtime {
	return node.RuntimeOf(cmp.Or(p.state.Version(), p.client.Info), p.state.Handlers(), p.state.Features())
}
