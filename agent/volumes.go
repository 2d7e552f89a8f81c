package agent

import (
	"context"
	"errors"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/mount-utils"

	"github.com/kubeloupe/kubeloupe/agent/image"
	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/claim"
	"github.com/kubeloupe/kubeloupe/agent/volume/csi"
	"github.com/kubeloupe/kubeloupe/agent/volume/downwardapi"
	"github.com/kubeloupe/kubeloupe/agent/volume/emptydir"
	"github.com/kubeloupe/kubeloupe/agent/volume/files"
	"github.com/kubeloupe/kubeloupe/agent/volume/flex"
	"github.com/kubeloupe/kubeloupe/agent/volume/hostpath"
	imagevolume "github.com/kubeloupe/kubeloupe/agent/volume/image"
	"github.com/kubeloupe/kubeloupe/agent/volume/keyfiles"
	"github.com/kubeloupe/kubeloupe/agent/volume/local"
	"github.com/kubeloupe/kubeloupe/agent/volume/memdir"
	"github.com/kubeloupe/kubeloupe/agent/volume/nfs"
	"github.com/kubeloupe/kubeloupe/agent/volume/projected"
	"github.com/kubeloupe/kubeloupe/agent/volume/scsi"
	"github.com/kubeloupe/kubeloupe/agent/volume/selinux"
	"github.com/kubeloupe/kubeloupe/agent/volume/subpath"
	"github.com/kubeloupe/kubeloupe/agent/worker"
)

// newVolumes creates the volume manager with all plugins.
func (p *parts) newVolumes(images *image.Puller, secrets *image.PullSecrets) error {
	mem := memdir.Plain()
	if !p.cfg.Simulated {
		var err error
		if mem, err = memdir.New(memdir.Kernel{}); err != nil {
			return err
		}
	}
	c := volume.Config{
		RootDir: filepath.Clean(p.cfg.Kubelet.Node.RootDir), Bus: p.cfg.Bus, Events: p.cluster.events,
		Settled: func(uid types.UID) {
			p.pods.registry.Wake(uid, worker.Cause{Text: "its volumes are there"})
		},
		InUseChanged: p.self.Changed, Notices: p.pods.notices,
	}
	content := image.Volumes{Images: images, Secrets: secrets}
	if p.imagesByHandler() {
		content.Handler = p.cluster.classes.Handler
	}
	var err error
	if c.Plugins, err = p.volumePlugins(mem, content); err != nil {
		return err
	}
	if !p.cfg.Simulated {
		p.subpaths, err = subpath.New(subpath.Config{RootDir: c.RootDir, Bus: p.cfg.Bus})
		if err != nil {
			return err
		}
		c.BeforeTearDown = p.subpaths.BeforeTearDown
		c.SELinux, c.SELinuxAllModes = selinux.OfNode(), p.cfg.Kubelet.Gates.Enabled("SELinuxMount")
	}
	if !p.cluster.alone() {
		if err := p.persistent(&c); err != nil {
			return err
		}
	}
	p.volumes, err = volume.New(c)
	return err
}

// volumePlugins returns the plugins that need no API server.
func (p *parts) volumePlugins(mem *memdir.Maker, images image.Volumes) ([]volume.Plugin, error) {
	c, node := p.cluster, p.criNode()
	fields := downwardapi.Config{Memory: mem, Allocatable: node.Allocatable, HostIPs: p.hostIPs, Users: files.Users(p.cfg.Kubelet.Gates.Enabled("AtomicWriteVolumeUserFields")), Bus: p.cfg.Bus}
	onDisk := emptydir.Config{Memory: mem, Allocatable: node.Allocatable, Modes: p.cfg.Kubelet.Gates.Enabled("EmptyDirVolumeMode"), Bus: p.cfg.Bus}
	if p.host.quotas = p.newQuotas(); p.host.quotas != nil {
		onDisk.Counter = p.host.quotas
	}
	empty, err := emptydir.New(onDisk)
	down, err2 := downwardapi.New(fields)
	fromImage, err3 := imagevolume.New(images.Ensure)
	project := projected.Config{Fields: fields}
	if !c.alone() {
		project.Objects, project.Tokens, project.Certificates = c.objects, c.tokens, c.podCerts
	}
	all, err4 := projected.New(project)
	if err := errors.Join(err, err2, err3, err4); err != nil {
		return nil, err
	}
	flexvolumes, err := p.newFlex()
	if err != nil {
		return nil, err
	}
	disks := scsi.Config{RootDir: filepath.Clean(p.cfg.Kubelet.Node.RootDir), Mounter: p.mounter(), Secrets: p.cfg.secrets, Events: p.cluster.events, Bus: p.cfg.Bus}
	disks.API, disks.Attached = p.attaching()
	iscsi, err := scsi.NewISCSI(disks)
	fc, err2 := scsi.NewFC(disks)
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	plugins := []volume.Plugin{empty, hostpath.New(), down, all, fromImage, flexvolumes, iscsi, fc}
	if c.alone() {
		return plugins, nil
	}
	maps, err := keyfiles.New(keyfiles.Config{Kind: keyfiles.ConfigMap, Memory: mem, Objects: c.objects, Users: fields.Users, Bus: p.cfg.Bus})
	secrets, err2 := keyfiles.New(keyfiles.Config{Kind: keyfiles.Secret, Memory: mem, Objects: c.objects, Users: fields.Users, Bus: p.cfg.Bus})
	return append(plugins, maps, secrets), errors.Join(err, err2)
}

// mounter mounts file systems.
func (p *parts) mounter() mount.Interface { return mount.New(p.cfg.Kubelet.Node.Mounter) }

// newFlex creates the plugin of flexvolumes.
func (p *parts) newFlex() (*flex.Plugin, error) {
	k := p.cfg.Kubelet
	c := flex.Config{
		RootDir: filepath.Clean(k.Node.RootDir), Dir: k.Kubelet.VolumePluginDir, NodeName: p.cfg.NodeName, Mounter: p.mounter(),
		Secrets: p.cfg.secrets, Events: p.cluster.events, Bus: p.cfg.Bus, Changed: p.pods.notices.Retry,
	}
	c.API, c.Attached = p.attaching()
	plugin, err := flex.New(c)
	if err == nil {
		p.add("flexvolume drivers", plugin.Run)
	}
	return plugin, err
}

// attaching returns what the plugins of attachable volumes need: the API, and p.attached if a controller attaches volumes; nil for none.
func (p *parts) attaching() (api kubeapi.CoreV1, attached func(v1.UniqueVolumeName) (string, bool)) {
	if p.cluster.alone() {
		return nil, nil
	}
	if *p.cfg.Kubelet.Kubelet.EnableControllerAttachDetach {
		attached = p.attached
	}
	return p.cluster.clients.Main.CoreV1(), attached
}

// attached returns the device of a volume that a controller has attached to this node, by the node's status, and whether it has.
func (p *parts) attached(name v1.UniqueVolumeName) (device string, is bool) {
	for _, v := range p.self.Object().Status.VolumesAttached {
		if v.Name == name {
			return v.DevicePath, true
		}
	}
	return "", false
}

// persistent adds what a cluster's volumes need: claims, and the drivers that register on this node.
func (p *parts) persistent(c *volume.Config) error {
	api := p.cluster.clients.Main
	claims, err := claim.New(claim.Config{API: api.CoreV1(), Events: p.cluster.events})
	if err != nil {
		return err
	}
	c.Claims = claims
	c.NodeLabels = p.self.Labels
	_, attached := p.attaching()
	drivers, err := csi.New(csi.Config{
		Secrets: p.cfg.secrets,
		RootDir: c.RootDir, NodeName: p.cfg.NodeName, API: api, Attached: attached, Mounter: p.mounter(), Tokens: p.cluster.tokens,
		Events: p.cluster.events, Registered: func(string) { p.pods.notices.Retry(csi.Name) },
		Republish: func() { p.pods.notices.Reschedule(csi.Name) }, ReadyChanged: p.self.Changed, Bus: p.cfg.Bus,
	})
	if err != nil {
		return err
	}
	disks, err := local.New(local.Config{RootDir: c.RootDir, Mounter: p.mounter(), Events: p.cluster.events, Bus: p.cfg.Bus})
	shares, err2 := nfs.New(p.mounter())
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	c.Plugins = append(c.Plugins, drivers, disks, shares)
	p.pods.plugins["CSIPlugin"], p.cluster.drivers = drivers, drivers
	if err := p.newHealth(drivers); err != nil {
		return err
	}
	p.add("CSI drivers", func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return nil
		case <-p.self.Registered():
			return drivers.Run(ctx)
		}
	})
	return nil
}

// noCSINode returns why schedulers know nothing of the node's CSI drivers. A node that is ready when the agent starts stays ready while its
// CSINode object is looked up; upstream's is not ready then.
func (p *parts) noCSINode() error {
	if p.cluster.drivers == nil {
		return nil
	}
	err := p.cluster.drivers.NotReady()
	if errors.Is(err, csi.ErrNoNode) && p.self.Ready() {
		return nil
	}
	return err
}

// newHealth has the drivers asked about the health of volumes, if the feature gate is on.
func (p *parts) newHealth(drivers *csi.Plugin) (err error) {
	if !p.cfg.Kubelet.Gates.Enabled("CSIVolumeHealth") {
		return nil
	}
	p.cluster.health, err = csi.NewHealth(csi.HealthConfig{
		Plugin: drivers, Period: p.cfg.Kubelet.Kubelet.VolumeStatsAggPeriod.Duration, Set: p.cluster.statuses.SetVolumeHealth,
		Uses: func(plugin string) []volume.Use { return p.volumes.Uses(plugin) },
	})
	if err == nil {
		p.add("volume health", p.cluster.health.Run)
	}
	return err
}
