package agent

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/cgroup"
	"github.com/kubeloupe/kubeloupe/agent/cniwatch"
	"github.com/kubeloupe/kubeloupe/agent/dns"
	"github.com/kubeloupe/kubeloupe/agent/image"
	"github.com/kubeloupe/kubeloupe/agent/lifecycle"
	"github.com/kubeloupe/kubeloupe/agent/podcidr"
	"github.com/kubeloupe/kubeloupe/agent/podruntime"
	"github.com/kubeloupe/kubeloupe/agent/probe"
	"github.com/kubeloupe/kubeloupe/agent/userns"
)

// newRuntime creates the pod runtime, with everything that it needs.
func (p *parts) newRuntime(ctx context.Context) (*podruntime.Runtime, error) {
	images, err := p.newImages(ctx)
	if err != nil {
		return nil, err
	}
	p.pods.images = images
	p.pods.cgroups = cgroup.NewPods(p.cgroups, p.pods.registry)
	p.add("QoS cgroups", p.pods.cgroups.Run)
	pullSecrets := p.cluster.pullSecrets(p.cfg.Bus)
	if err := p.newResizes(); err != nil {
		return nil, err
	}
	if err := p.newVolumes(images, pullSecrets); err != nil {
		return nil, err
	}
	probing := probe.Config{
		Exec: p.client.Runtime, Observer: p.pleg.Cache(), Events: p.cluster.events, HostIPs: p.hostIPs, Family: p.podFamily(), CPU: p.cgroups.Throttling, Bus: p.cfg.Bus,
		H2C: p.cfg.Kubelet.Gates.Enabled("H2CContainerProbe"), GRPCTLS: p.cfg.Kubelet.Gates.Enabled("GRPCContainerProbeTLS"),
		Afresh: p.cfg.Kubelet.Gates.Enabled("ChangeContainerStatusOnKubeletRestart"),
	}
	if !p.cluster.alone() {
		probing.Mirrors = p.cluster.mirrors
	}
	if p.pods.prober, err = probe.New(probing); err != nil {
		return nil, err
	}
	options, err := p.options(ctx, pullSecrets)
	if err != nil {
		return nil, err
	}
	if err := p.watchNetwork(); err != nil {
		return nil, err
	}
	k := p.cfg.Kubelet
	var ensured podruntime.Images = images
	if p.imagesByHandler() {
		ensured = image.ByHandler{Puller: images, Handler: p.cluster.classes.Handler}
	}
	return podruntime.New(podruntime.Config{
		Sandboxes: p.client.Runtime, Containers: p.client.Runtime, Images: ensured, Volumes: p.volumes, Cgroups: p.pods.cgroups,
		Observer: observer{p.pleg}, Files: p.files, Gate: p.cfg.Gate, Slots: p.slots,
		Backoff: podruntime.NewCrashBackoff(k.Pods.FirstRestartBackoff, k.Pods.MaxRestartBackoff),
		Node:    p.criNode(), DNS: p.dns().Of, HostIPs: p.hostIPs, Family: p.podFamily(),
		RootDir: k.Node.RootDir, LogLinks: p.logLinks(), Bus: p.cfg.Bus, Secrets: p.cfg.secrets, Options: options,
	})
}

// options returns the optional parts of the pod runtime, from the cluster and the node's other parts.
func (p *parts) options(ctx context.Context, pullSecrets *image.PullSecrets) (podruntime.Options, error) {
	c := p.cluster
	hooks, err := lifecycle.New(lifecycle.Config{Exec: p.client.Runtime, Events: c.events, Bus: p.cfg.Bus})
	if err != nil {
		return podruntime.Options{}, err
	}
	p.pods.hooks = hooks
	s := podruntime.Options{
		Events: c.events, Probes: p.pods.prober, Hooks: hooks, RuntimeHandler: c.classes.Handler, HandlerFeatures: p.state.Supports, ExtraGroups: p.volumes.ExtraGroups,
		BlockVolumes: p.volumes.BlockVolumes, Resizes: p.pods.resizes, Updates: p.client.Runtime,
		Pinning: p.host.managers, PullSecrets: pullSecrets, SandboxFailed: p.state.SandboxFailed, Devices: p.pods.devices, Claims: p.pods.claims,
	}
	if p.cfg.Kubelet.Gates.Enabled(gateResizeVolumes) {
		s.ResizeVolume = p.volumes.Resize
	}
	if p.cgroups != nil {
		s.PodLimits = p.pods.cgroups
	}
	if !p.cfg.Simulated {
		s.SubPath = p.subpaths
		if err := p.newUserNS(ctx); err != nil {
			return s, err
		}
		s.UserNS = userNS{p.userns}
	}
	if c.alone() {
		return s, nil
	}
	s.EnvObjects = c.objects
	s.Services = c.objects.Services
	return s, nil
}

// imagesByHandler reports whether the runtime gets the handler of a pod's RuntimeClass with the names of images.
func (p *parts) imagesByHandler() bool {
	return p.cfg.Kubelet.Gates.Enabled("RuntimeClassInImageCriApi")
}

// dns returns the resolver configurations of pods.
func (p *parts) dns() dns.Resolver {
	k := p.cfg.Kubelet.DNS
	return dns.Resolver{ResolvConf: k.ResolvConf, ClusterDNS: k.ClusterDNS, ClusterDomain: k.ClusterDomain, NodeIPs: p.host.addresses.own}
}

// watchNetwork tells the runtime the addresses of pods, and checks its state when the network's configuration changes. The simulated runtime
// has none.
func (p *parts) watchNetwork() (err error) {
	p.host.podCIDR, err = podcidr.New(podcidr.Config{
		Runtime: p.client.Runtime, Configured: p.cfg.Kubelet.Kubelet.PodCIDR, Sent: p.state.Prompt, Bus: p.cfg.Bus,
	})
	if err != nil {
		return err
	}
	p.add("addresses of pods", p.host.podCIDR.Run)
	if p.cfg.Simulated {
		return nil
	}
	w, err := cniwatch.New(cniwatch.Config{Runtime: p.client.Runtime, Prompt: p.state.Prompt})
	if err != nil {
		return err
	}
	p.add("network configuration", w.Run)
	return nil
}

// newUserNS creates what allocates IDs to pods with hostUsers: false.
func (p *parts) newUserNS(ctx context.Context) (err error) {
	c := userns.Config{RootDir: p.cfg.Kubelet.Node.RootDir, MaxPods: int(p.cfg.Kubelet.Pods.Max), Bus: p.cfg.Bus}
	if u := p.cfg.Kubelet.Kubelet.UserNamespaces; u != nil && u.IDsPerPod != nil {
		c.PerPod = *u.IDsPerPod
	}
	if c.Range, err = userns.SystemSubids().Read(ctx); err != nil {
		return err
	}
	p.userns, err = userns.New(c)
	return err
}

// userNS is userns.Ranges for podruntime: a range whose file cannot be removed is removed with the pod's directory.
type userNS struct{ *userns.Ranges }

// Release implements podruntime.UserNamespaces.
func (u userNS) Release(uid types.UID) { _ = u.Ranges.Release(uid) }
