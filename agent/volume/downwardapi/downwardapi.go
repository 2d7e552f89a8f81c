// Package downwardapi is two volume plugins, kubernetes.io/downward-api and
// kubernetes.io/projected: files that show the pod's own fields and resources.
//
// It owns what the files hold, their modes and their group. It fetches nothing: a projected
// volume with any other source is not supported. The files follow the pod when it is mounted again
// after a change. They are kept in memory, or on disk where the agent may not mount. It runs
// no goroutine and publishes no event; the manager does.
//
// Upstream: pkg/volume/downwardapi, pkg/volume/projected.
package downwardapi

import (
	"context"
	"errors"
	"os"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/atomicdir"
	"github.com/kubeloupe/kubeloupe/agent/volume/fsgroup"
	"github.com/kubeloupe/kubeloupe/agent/volume/memdir"
)

// The plugins' names.
const (
	Name          = "kubernetes.io/downward-api"
	ProjectedName = "kubernetes.io/projected"
)

// Config is what the plugins need.
type Config struct {
	Memory *memdir.Maker
	// Allocatable is the node's: it stands in for limits that are not set.
	Allocatable v1.ResourceList
	// HostIPs are the node's addresses, primary first.
	HostIPs []string
}

// Plugin is either of the two.
type Plugin struct {
	cfg   Config
	name  string
	items func(v *v1.Volume) (items []v1.DownwardAPIVolumeFile, mode *int32, ok bool)
}

// New returns the plugin for downwardAPI volumes.
func New(cfg Config) (*Plugin, error) { return build(cfg, Name, plainItems) }

// NewProjected returns the plugin for projected volumes of which all sources are downwardAPI.
func NewProjected(cfg Config) (*Plugin, error) { return build(cfg, ProjectedName, projectedItems) }

func build(cfg Config, name string, items func(*v1.Volume) ([]v1.DownwardAPIVolumeFile, *int32, bool)) (*Plugin, error) {
	if cfg.Memory == nil {
		return nil, errors.New("downwardapi: Config.Memory is missing")
	}
	return &Plugin{cfg: cfg, name: name, items: items}, nil
}

// Name implements volume.Plugin.
func (p *Plugin) Name() string { return p.name }

// CanSupport implements volume.Plugin.
func (p *Plugin) CanSupport(v *v1.Volume) bool {
	_, _, ok := p.items(v)
	return ok
}

// Version implements volume.Plugin: a digest of the files.
func (p *Plugin) Version(s volume.Spec) (string, error) {
	files, err := p.files(s)
	if err != nil {
		return "", err
	}
	return digest(files), nil
}

// SetUp implements volume.Plugin.
func (p *Plugin) SetUp(_ context.Context, s volume.Spec) (criconfig.Volume, error) {
	files, err := p.files(s)
	if err != nil {
		return criconfig.Volume{}, err
	}
	if err := p.makeDir(s.Dir); err != nil {
		return criconfig.Volume{}, err
	}
	if err := makeNested(s); err != nil {
		return criconfig.Volume{}, err
	}
	group := fsgroup.Of(s.Pod)
	w := atomicdir.Writer{Dir: s.Dir, Own: func(root *os.Root, sub string) error {
		if err := fsgroup.One(root, ".", group, true); err != nil {
			return err
		}
		return fsgroup.Apply(root, sub, group, true)
	}}
	if err := w.Write(files); err != nil {
		return criconfig.Volume{}, err
	}
	return criconfig.Volume{HostPath: s.Dir, ReadOnly: true, SELinuxRelabel: true}, nil
}

// makeDir prefers memory, as upstream does, so that nothing of it reaches a disk.
func (p *Plugin) makeDir(dir string) error {
	err := p.cfg.Memory.Tmpfs(dir, 0)
	if _, ok := errors.AsType[*memdir.UnsupportedError](err); ok {
		return memdir.Make(dir)
	}
	return err
}

// TearDown implements volume.Plugin.
func (p *Plugin) TearDown(_ context.Context, at volume.Place) error {
	return p.cfg.Memory.Remove(at.Dir)
}
