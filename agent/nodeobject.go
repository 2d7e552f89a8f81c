package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/admit"
	"github.com/kubeloupe/kubeloupe/agent/allocatable"
	"github.com/kubeloupe/kubeloupe/agent/cgroup"
	"github.com/kubeloupe/kubeloupe/agent/cri"
	"github.com/kubeloupe/kubeloupe/agent/node"
	"github.com/kubeloupe/kubeloupe/trace"
)

func simulatedMachine() allocatable.Machine {
	return allocatable.Machine{CPUs: int64(runtime.NumCPU()), Memory: 16 << 30, Disk: simulatedDisk}
}

// readMachine reads what the node has, and what of it pods may request.
func (p *parts) readMachine() (err error) {
	k := p.cfg.Kubelet
	p.machine, err = allocatable.ReadMachine("/", k.Node.RootDir)
	switch {
	case err != nil && p.cfg.Simulated:
		p.machine = simulatedMachine() // no Linux: nothing real runs here
	case err != nil:
		return fmt.Errorf("read what the machine has: %w", err)
	}
	evict := k.Kubelet.EvictionHard
	if k.API.IgnoreEviction {
		evict = nil
	}
	p.resources, err = allocatable.Compute(p.machine, allocatable.Config{
		MaxPods: k.Pods.Max, PodsPerCore: k.Kubelet.PodsPerCore,
		KubeReserved: k.Kubelet.KubeReserved, SystemReserved: k.Kubelet.SystemReserved, EvictionHard: evict,
	})
	return err
}

// limits are those of all pods together.
//
// Upstream: pkg/kubelet/cm/node_container_manager_linux.go, enforceNodeAllocatableCgroups.
func (p *parts) limits() cgroup.Limits {
	if !slices.Contains(p.cfg.Kubelet.Kubelet.EnforceNodeAllocatable, "pods") {
		return cgroup.Limits{}
	}
	has := p.resources.Enforced
	return cgroup.Limits{MilliCPU: has.Cpu().MilliValue(), Memory: has.Memory().Value()}
}

// newNode makes the node's object in the API.
func (p *parts) newNode(client *cri.Client) (err error) {
	c, k := p.cluster, p.cfg.Kubelet
	kc := k.Kubelet
	c.node, err = node.New(node.Config{
		Name: p.cfg.NodeName, Client: c.clients.Main, Heartbeat: c.clients.Heartbeat,
		NoRegister: !*kc.RegisterNode, Labels: k.Node.Labels, Taints: kc.RegisterWithTaints, ProviderID: kc.ProviderID,
		AttachDetach: *kc.EnableControllerAttachDetach, IPs: nodeIPs(k.Node.IPs),
		Info: node.ReadInfo("/", p.cfg.Version, p.machine.Swap), Port: kc.Port,
		Declared:  node.DeclaredFeatures(k.Gates),
		Cgroups:   p.cgroupsInUse(),
		MaxImages: *kc.NodeStatusMaxImages,
		Resources: func() (capacity, allocatable v1.ResourceList) { return p.resources.Capacity, p.resources.Allocatable },
		Images:    func(ctx context.Context) ([]node.Image, error) { return listImages(ctx, client.Image) },
		Runtime:   func() node.Runtime { return p.runtime(client.Info) },
		NotReady:  p.notReady, Pressure: p.pressure,
		VolumesInUse:    func() ([]v1.UniqueVolumeName, bool) { return p.volumes.InUse(), p.manager.SourcesReady() },
		Seen:            p.seenNode,
		HeartbeatFailed: c.clients.CloseIdle,
		StatusFrequency: kc.NodeStatusUpdateFrequency.Duration, ReportFrequency: kc.NodeStatusReportFrequency.Duration,
		LeaseDuration: seconds(kc.NodeLeaseDurationSeconds), Events: c.events, Bus: p.cfg.Bus,
	})
	if err != nil {
		return err
	}
	p.add("node", c.node.Run)
	p.add("node readiness", p.watchReadiness)
	return nil
}

// describeAlone tells what the node is and has where no object in the API does. It does not change while the agent runs.
func (p *parts) describeAlone() {
	s := v1.NodeStatus{
		Capacity: p.resources.Capacity, Allocatable: p.resources.Allocatable, NodeInfo: node.ReadInfo("/", p.cfg.Version, p.machine.Swap),
	}
	s.NodeInfo.ContainerRuntimeVersion = node.RuntimeVersion(p.runtime(p.info))
	for _, ip := range p.hostIPs {
		s.Addresses = append(s.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: ip})
	}
	s.Addresses = append(s.Addresses, v1.NodeAddress{Type: v1.NodeHostName, Address: p.cfg.NodeName})
	d := node.Description(p.cfg.NodeName, &s, p.cgroupsInUse())
	d.Standalone = true
	trace.Point(p.cfg.Bus, trace.Span{}, d)
}

// cgroupsInUse says how cgroups are made here.
func (p *parts) cgroupsInUse() node.Cgroups {
	switch {
	case p.cgroups == nil:
		return node.Cgroups{}
	case p.cgroups.V2():
		return node.Cgroups{Version: 2, Driver: string(p.cgroups.Driver())}
	}
	return node.Cgroups{Version: 1, Driver: string(p.cgroups.Driver())}
}

// seenNode hands on what the API shows of the node.
func (p *parts) seenNode(n *v1.Node) {
	p.volumes.MarkInUse(n.Status.VolumesInUse)
	p.cluster.mirrors.Wake()
	if p.addressed != nil {
		p.addressed()
	}
}

// watchReadiness has the node's status written as soon as the runtime's state changes.
func (p *parts) watchReadiness(ctx context.Context) error {
	for {
		changed := p.state.Changed()
		p.cluster.node.Changed()
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

// notReady is why the node is not: what it lacks, in upstream's words.
func (p *parts) notReady() []error {
	var errs []error
	if ok, why := p.state.Ready(); !ok {
		errs = append(errs, fmt.Errorf("container runtime is down: %s", why))
	}
	if ok, why := p.state.NetworkReady(); !ok {
		errs = append(errs, errors.New("container runtime network not ready: "+why))
	}
	return errs
}

// pressure is what the node is short of, for its conditions.
func (p *parts) pressure() node.Pressure {
	return node.Pressure{Memory: p.shortage.Short("memory"), Disk: p.shortage.Short("nodefs", "imagefs")}
}

// runtime is what the runtime says of itself.
func (p *parts) runtime(info *runtimeapi.VersionResponse) node.Runtime {
	r := node.Runtime{Name: info.GetRuntimeName(), Version: strings.TrimPrefix(info.GetRuntimeVersion(), "v")}
	for _, h := range p.state.Handlers() {
		r.Handlers = append(r.Handlers, v1.NodeRuntimeHandler{Name: h.GetName(), Features: &v1.NodeRuntimeHandlerFeatures{
			RecursiveReadOnlyMounts: new(h.GetFeatures().GetRecursiveReadOnlyMounts()),
			UserNamespaces:          new(h.GetFeatures().GetUserNamespaces()),
		}})
	}
	if f := p.state.Features(); f != nil {
		r.Features = &v1.NodeFeatures{SupplementalGroupsPolicy: new(f.GetSupplementalGroupsPolicy())}
	}
	return r
}

func listImages(ctx context.Context, images runtimeapi.ImageServiceClient) ([]node.Image, error) {
	res, err := images.ListImages(ctx, &runtimeapi.ListImagesRequest{})
	if err != nil {
		return nil, err
	}
	var out []node.Image
	for _, i := range res.GetImages() {
		out = append(out, node.Image{Digests: i.GetRepoDigests(), Tags: i.GetRepoTags(), Size: int64(i.GetSize())})
	}
	return out, nil
}

// admission adds to a pod's admission what is known of the node.
func (p *parts) admission(in *admit.Inputs) {
	in.MemoryPressure, in.DiskPressure = p.shortage.Short("memory"), p.shortage.Short("nodefs", "imagefs")
	in.Sysctls = p.cfg.Kubelet.Kubelet.AllowedUnsafeSysctls
	if p.cluster.node == nil {
		return // a node that stands alone takes what it is given
	}
	in.Node, in.Allocatable = p.cluster.node.Object(), p.resources.Allocatable
}

func nodeIPs(texts []string) []net.IP {
	var out []net.IP
	for _, s := range texts {
		out = append(out, net.ParseIP(s)) // config has checked it
	}
	return out
}
