// Package downwardapi is the volume plugin kubernetes.io/downward-api: files that show the pod's
// own fields and resources.
//
// It owns the content of the files. It fetches nothing. The files are updated when the pod is mounted again after a change. It runs
// no goroutine and publishes no event; the manager does.
//
// Upstream: pkg/volume/downwardapi.
package downwardapi

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/files"
	"github.com/kubeloupe/kubeloupe/agent/volume/memdir"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Name is the plugin's name.
const Name = "kubernetes.io/downward-api"

// Config is the configuration of the plugin.
type Config struct {
	Memory *memdir.Maker
	// Allocatable is the node's allocatable; it replaces limits that are not set.
	Allocatable v1.ResourceList
	// HostIPs returns the node's addresses, primary first. It must not block. May be nil: then they are unknown.
	HostIPs func() []string
	// Users says that owners of files in the spec count.
	Users files.Users
	// Bus may be nil.
	Bus *trace.Bus
}

// Plugin is the plugin.
type Plugin struct {
	cfg   Config
	store files.Store
}

// New returns the plugin.
func New(cfg Config) (*Plugin, error) {
	if cfg.Memory == nil {
		return nil, errors.New("downwardapi: Config.Memory is missing")
	}
	return &Plugin{cfg: cfg, store: files.Store{Bus: cfg.Bus, Memory: cfg.Memory}}, nil
}

// Name implements volume.Plugin.
func (p *Plugin) Name() string { return Name }

// Holds implements volume.Holder.
func (*Plugin) Holds() string { return files.Holds }

// CanSupport implements volume.Plugin.
func (p *Plugin) CanSupport(v *v1.Volume) bool { return v.DownwardAPI != nil }

// Version implements volume.Plugin: a digest of the files.
func (p *Plugin) Version(s volume.Spec) (string, error) {
	set, err := p.files(s)
	return files.Version(s, set.Digest()), err
}

// SetUp implements volume.Plugin.
func (p *Plugin) SetUp(ctx context.Context, s volume.Spec) (criconfig.Volume, error) {
	set, err := p.files(s)
	if err != nil {
		return criconfig.Volume{}, err
	}
	return p.store.SetUp(ctx, s, set)
}

// TearDown implements volume.Plugin.
func (p *Plugin) TearDown(ctx context.Context, at volume.Place) error {
	return p.store.TearDown(ctx, at)
}

func (p *Plugin) files(s volume.Spec) (files.Set, error) {
	src := s.Volume.DownwardAPI
	return p.cfg.Files(s.Pod, src.Items, src.DefaultMode, src.DefaultUser)
}
