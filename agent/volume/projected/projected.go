// Package projected is the volume plugin kubernetes.io/projected: files from several sources in one directory, such as service
// account tokens.
//
// It owns the list of files of the sources, and their owners. Objects, tokens and certificates come from caches, which also trigger
// updates of the files. It runs no goroutine and publishes no event; the manager does.
//
// Upstream: pkg/volume/projected.
package projected

import (
	"context"
	"errors"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/downwardapi"
	"github.com/kubeloupe/kubeloupe/agent/volume/files"
)

// Name is the plugin's name.
const Name = "kubernetes.io/projected"

// Objects gets objects of the API. agent/objcache implements it.
type Objects interface {
	ConfigMap(ctx context.Context, namespace, name string) (*v1.ConfigMap, error)
	Secret(ctx context.Context, namespace, name string) (*v1.Secret, error)
	TrustAnchors(ctx context.Context, src *v1.ClusterTrustBundleProjection) ([]byte, error)
	// RefreshAfter returns the time after which a volume must be set up again; 0 means never.
	RefreshAfter() time.Duration
}

// Tokens gets service-account tokens. agent/token implements it.
type Tokens interface {
	Token(ctx context.Context, namespace, account string, want *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error)
	// RefreshAt returns when to request the same token again; zero means never.
	RefreshAt(namespace, account string, want *authenticationv1.TokenRequest) time.Time
	Forget(pod types.UID)
}

// Certificates gets pods their certificates. agent/podcert implements it.
type Certificates interface {
	// Certificate returns the key and the certificate chain for a source of a volume, in PEM. The implementation
	// reports a new one itself.
	Certificate(ctx context.Context, pod *v1.Pod, volume string, source int) (key, chain []byte, err error)
}

// Config is the configuration of the plugin.
type Config struct {
	Fields downwardapi.Config
	// Objects, Tokens and Certificates may be nil on a node without an API server: volumes that need
	// them are not supported then.
	Objects      Objects
	Tokens       Tokens
	Certificates Certificates
}

// Plugin is the plugin.
type Plugin struct {
	cfg   Config
	store files.Store
}

// New returns the plugin.
func New(cfg Config) (*Plugin, error) {
	if cfg.Fields.Memory == nil {
		return nil, errors.New("projected: Config.Fields.Memory is missing")
	}
	return &Plugin{cfg: cfg, store: files.Store{Bus: cfg.Fields.Bus, Memory: cfg.Fields.Memory}}, nil
}

// Name implements volume.Plugin.
func (*Plugin) Name() string { return Name }

// Holds implements volume.Holder.
func (*Plugin) Holds() string { return files.Holds }

// CanSupport implements volume.Plugin.
func (p *Plugin) CanSupport(v *v1.Volume) bool {
	if v.Projected == nil {
		return false
	}
	for i := range v.Projected.Sources {
		if !p.knows(&v.Projected.Sources[i]) {
			return false
		}
	}
	return true
}

func (p *Plugin) knows(src *v1.VolumeProjection) bool {
	switch {
	case src.DownwardAPI != nil:
		return true
	case src.ServiceAccountToken != nil:
		return p.cfg.Tokens != nil
	case src.PodCertificate != nil:
		return p.cfg.Certificates != nil
	}
	return p.cfg.Objects != nil
}

// Version implements volume.Plugin: a digest of the files with the pod's own data. The caches report changes of the
// others.
func (p *Plugin) Version(s volume.Spec) (string, error) {
	src := s.Volume.Projected
	set, err := p.cfg.Fields.Files(s.Pod, fields(src), src.DefaultMode, src.DefaultUser)
	return files.Version(s, set.Digest()), err
}

func fields(src *v1.ProjectedVolumeSource) (items []v1.DownwardAPIVolumeFile) {
	for _, s := range src.Sources {
		if s.DownwardAPI != nil {
			items = append(items, s.DownwardAPI.Items...)
		}
	}
	return items
}

// SetUp implements volume.Plugin.
func (p *Plugin) SetUp(ctx context.Context, s volume.Spec) (criconfig.Volume, error) {
	var set files.Set
	err := volume.Idle(ctx, func() (err error) {
		set, err = p.collect(ctx, s)
		return err
	})
	if err != nil {
		return criconfig.Volume{}, err
	}
	return p.store.SetUp(ctx, s, set)
}

// RefreshAt implements volume.Refresher: the time at which the first token must be replaced.
func (p *Plugin) RefreshAt(s volume.Spec) time.Time {
	var at time.Time
	sooner := func(t time.Time) {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	for _, src := range s.Volume.Projected.Sources {
		switch {
		case src.ServiceAccountToken != nil:
			sooner(p.cfg.Tokens.RefreshAt(s.Pod.Namespace, s.Pod.Spec.ServiceAccountName, request(s.Pod, src.ServiceAccountToken)))
		case src.ConfigMap != nil || src.Secret != nil:
			if after := p.cfg.Objects.RefreshAfter(); after > 0 {
				sooner(time.Now().Add(after))
			}
		}
	}
	return at
}

// TearDown implements volume.Plugin.
func (p *Plugin) TearDown(ctx context.Context, at volume.Place) error {
	if err := p.store.TearDown(ctx, at); err != nil {
		return err
	}
	if p.cfg.Tokens != nil {
		p.cfg.Tokens.Forget(at.PodUID)
	}
	return nil
}
