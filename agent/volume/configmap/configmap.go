// Package configmap is the volume plugin kubernetes.io/configmap: a ConfigMap's keys as files.
//
// It owns what the files hold. The ConfigMap comes from a cache, which also says when to write
// the files anew. It runs no goroutine and publishes no event; the manager does.
//
// Upstream: pkg/volume/configmap.
package configmap

import (
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/files"
	"github.com/kubeloupe/kubeloupe/agent/volume/memdir"
)

// Name is the plugin's name.
const Name = "kubernetes.io/configmap"

// Objects gets ConfigMaps. It is agent/objcache's.
type Objects interface {
	ConfigMap(ctx context.Context, namespace, name string) (*v1.ConfigMap, error)
	// RefreshAfter is how long after it was set up a volume is to be set up again; 0 is never.
	RefreshAfter() time.Duration
}

// Config is what the plugin needs.
type Config struct {
	Memory  *memdir.Maker
	Objects Objects
}

// Plugin is the plugin.
type Plugin struct {
	cfg   Config
	store files.Store
}

// New returns the plugin.
func New(cfg Config) (*Plugin, error) {
	if cfg.Memory == nil || cfg.Objects == nil {
		return nil, errors.New("configmap: Config.Memory or Config.Objects is missing")
	}
	return &Plugin{cfg: cfg, store: files.Store{Memory: cfg.Memory, Disk: true}}, nil
}

// Name implements volume.Plugin.
func (*Plugin) Name() string { return Name }

// Holds implements volume.Holder.
func (*Plugin) Holds() string { return files.Holds }

// CanSupport implements volume.Plugin.
func (*Plugin) CanSupport(v *v1.Volume) bool { return v.ConfigMap != nil }

// Version implements volume.Plugin: the cache says when the files change.
func (*Plugin) Version(volume.Spec) (string, error) { return "", nil }

// SetUp implements volume.Plugin.
func (p *Plugin) SetUp(ctx context.Context, s volume.Spec) (criconfig.Volume, error) {
	src := s.Volume.ConfigMap
	optional := src.Optional != nil && *src.Optional
	var obj *v1.ConfigMap
	err := volume.Idle(ctx, func() (err error) {
		obj, err = p.cfg.Objects.ConfigMap(ctx, s.Pod.Namespace, src.Name)
		return err
	})
	switch {
	case apierrors.IsNotFound(err) && optional:
		obj = &v1.ConfigMap{}
	case err != nil:
		return criconfig.Volume{}, err
	}
	set, err := files.OfConfigMap(obj, src.Items, src.DefaultMode, optional)
	if err != nil {
		return criconfig.Volume{}, err
	}
	return p.store.SetUp(s, set)
}

// RefreshAt implements volume.Refresher.
func (p *Plugin) RefreshAt(volume.Spec) time.Time {
	after := p.cfg.Objects.RefreshAfter()
	if after == 0 {
		return time.Time{}
	}
	return time.Now().Add(after)
}

// TearDown implements volume.Plugin.
func (p *Plugin) TearDown(ctx context.Context, at volume.Place) error {
	return p.store.TearDown(ctx, at)
}
