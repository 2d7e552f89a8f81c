// Package keyfiles has the volume plugins kubernetes.io/configmap and kubernetes.io/secret: the keys of a ConfigMap as
// files on disk, those of a Secret as files in memory. They are one plugin with two kinds.
//
// It owns the content of the files. The object comes from a cache, which also triggers updates of the files. It runs no goroutine
// and publishes no event; the manager does.
//
// Upstream: pkg/volume/configmap, pkg/volume/secret.
package keyfiles

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/files"
	"github.com/kubeloupe/kubeloupe/agent/volume/memdir"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Kind is the kind of object whose keys a plugin mounts. It is the plugin's name.
type Kind string

// The kinds, with upstream's names.
const (
	ConfigMap Kind = "kubernetes.io/configmap"
	Secret    Kind = "kubernetes.io/secret" //nolint:gosec // G101: the name of a plugin, not a credential
)

// Objects gets ConfigMaps and Secrets. agent/objcache implements it.
type Objects interface {
	ConfigMap(ctx context.Context, namespace, name string) (*v1.ConfigMap, error)
	Secret(ctx context.Context, namespace, name string) (*v1.Secret, error)
	// RefreshAfter returns the time after which a volume must be set up again; 0 means never.
	RefreshAfter() time.Duration
}

// Config is the configuration of the plugin.
type Config struct {
	Kind    Kind
	Memory  *memdir.Maker
	Objects Objects
	// Users says that owners of files in the spec count.
	Users files.Users
	// Bus may be nil.
	Bus *trace.Bus
}

// Plugin is the plugin for volumes of one kind.
type Plugin struct {
	cfg   Config
	store files.Store
}

// New returns the plugin.
func New(cfg Config) (*Plugin, error) {
	switch {
	case cfg.Kind != ConfigMap && cfg.Kind != Secret:
		return nil, fmt.Errorf("keyfiles: Config.Kind is %q, want %q or %q", cfg.Kind, ConfigMap, Secret)
	case cfg.Memory == nil || cfg.Objects == nil:
		return nil, errors.New("keyfiles: Config.Memory or Config.Objects is missing")
	}
	return &Plugin{cfg: cfg, store: files.Store{Bus: cfg.Bus, Memory: cfg.Memory, Disk: cfg.Kind == ConfigMap}}, nil
}

// Name implements volume.Plugin.
func (p *Plugin) Name() string { return string(p.cfg.Kind) }

// Holds implements volume.Holder.
func (*Plugin) Holds() string { return files.Holds }

// CanSupport implements volume.Plugin.
func (p *Plugin) CanSupport(v *v1.Volume) bool {
	if p.cfg.Kind == Secret {
		return v.Secret != nil
	}
	return v.ConfigMap != nil
}

// Version implements volume.Plugin: the cache reports changes of the files.
func (*Plugin) Version(s volume.Spec) (string, error) { return files.Version(s, ""), nil }

// SetUp implements volume.Plugin.
func (p *Plugin) SetUp(ctx context.Context, s volume.Spec) (criconfig.Volume, error) {
	var set files.Set
	err := volume.Idle(ctx, func() (err error) {
		if src := s.Volume.Secret; p.cfg.Kind == Secret {
			set, err = files.OfSecret(ctx, p.cfg.Objects.Secret, s.Pod.Namespace, files.Keys{
				Object: src.SecretName, Items: src.Items, Mode: src.DefaultMode, User: src.DefaultUser, Users: p.cfg.Users, Optional: src.Optional,
			})
			return err
		}
		src := s.Volume.ConfigMap
		set, err = files.OfConfigMap(ctx, p.cfg.Objects.ConfigMap, s.Pod.Namespace, files.Keys{
			Object: src.Name, Items: src.Items, Mode: src.DefaultMode, User: src.DefaultUser, Users: p.cfg.Users, Optional: src.Optional,
		})
		return err
	})
	if err != nil {
		return criconfig.Volume{}, err
	}
	return p.store.SetUp(ctx, s, set)
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
