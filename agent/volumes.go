package agent

import (
	"path/filepath"

	"k8s.io/mount-utils"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/downwardapi"
	"github.com/kubeloupe/kubeloupe/agent/volume/emptydir"
	"github.com/kubeloupe/kubeloupe/agent/volume/hostpath"
	"github.com/kubeloupe/kubeloupe/agent/volume/memdir"
	"github.com/kubeloupe/kubeloupe/agent/volume/projected"
)

// newVolumes makes the volume manager with all plugins.
func newVolumes(cfg Config, node criconfig.Node, hostIPs []string) (*volume.Manager, error) {
	mem := memdir.Plain()
	if !cfg.Simulated {
		var err error
		if mem, err = memdir.New(mount.New("")); err != nil {
			return nil, err
		}
	}
	empty, err := emptydir.New(emptydir.Config{Memory: mem, Allocatable: node.Allocatable})
	if err != nil {
		return nil, err
	}
	fields := downwardapi.Config{Memory: mem, Allocatable: node.Allocatable, HostIPs: hostIPs}
	down, err := downwardapi.New(fields)
	if err != nil {
		return nil, err
	}
	proj, err := projected.New(projected.Config{Fields: fields})
	if err != nil {
		return nil, err
	}
	return volume.New(volume.Config{
		RootDir: filepath.Clean(cfg.Kubelet.Node.RootDir), Bus: cfg.Bus,
		Plugins: []volume.Plugin{empty, hostpath.New(), down, proj},
	})
}
