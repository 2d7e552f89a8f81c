package csi

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
	"github.com/kubeloupe/kubeloupe/agent/redact"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Name is the plugin's name.
const Name = "kubernetes.io/csi"

// timeout limits the calls of a driver in each part of an operation, as upstream's.
const timeout = 2 * time.Minute

// API is the part of a client that the plugin needs: a kubeapi.Interface implements it.
type API interface {
	CoreV1() kubeapi.CoreV1
	StorageV1() kubeapi.StorageV1
}

// Tokens creates service account tokens for drivers that require them.
type Tokens interface {
	Token(ctx context.Context, namespace, serviceAccount string, req *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error)
}

// Mounter is the part of k8s.io/mount-utils that block volumes need.
type Mounter interface {
	MountSensitiveWithoutSystemd(source, target, fstype string, options, sensitiveOptions []string) error
	Unmount(target string) error
}

// Config is what a Plugin needs.
type Config struct {
	// RootDir is the kubelet's root directory, absolute.
	RootDir  string
	NodeName string
	API      API
	Mounter  Mounter
	// Attached returns whether the newest status of the node lists a volume as attached. If nil, no controller maintains that list. device
	// is not used.
	Attached func(name v1.UniqueVolumeName) (device string, attached bool)
	// Tokens may be nil: then drivers that require tokens are refused.
	Tokens Tokens
	// Events may be nil.
	Events events.Publisher
	// Registered, if set, is called after a driver registered: volumes that waited for it can continue.
	Registered func(driver string)
	// Republish, if set, is called when the volumes of a driver must be published again from now on: RefreshAt has another result.
	Republish func()
	// ReadyChanged, if set, is called when the result of NotReady may have changed.
	ReadyChanged func()
	Bus          *trace.Bus
	// Secrets learns the values of Secrets that drivers receive; may be nil.
	Secrets *redact.Vault
}

// Plugin is the plugin. It is a pluginwatch.Handler too, for type CSIPlugin.
type Plugin struct {
	cfg   Config
	infos infos
	locks volume.Locks
	// nodeMu serializes changes to the CSINode object and the node's annotation.
	nodeMu sync.Mutex
	// kicked wakes keepCounts.
	kicked chan struct{}

	mu      sync.Mutex
	drivers map[string]*driver
	// arrived is closed when the next driver registers.
	arrived chan struct{}
	// staged are the volumes, by ID, that this agent staged, with their Sight at that time. Others, and those that
	// others removed or unmounted since, are staged again: staging is idempotent.
	staged map[string]volume.Sight
	// leftovers says that an earlier agent may have left staged volumes of registered drivers.
	leftovers bool
	// notReady is why the node is not ready.
	notReady error
}

// New returns the plugin.
func New(cfg Config) (*Plugin, error) {
	switch {
	case !filepath.IsAbs(cfg.RootDir):
		return nil, fmt.Errorf("csi: Config.RootDir %q: want an absolute path", cfg.RootDir)
	case cfg.NodeName == "":
		return nil, errors.New("csi: Config.NodeName is empty")
	case cfg.API == nil:
		return nil, errors.New("csi: Config.API is missing")
	case cfg.Mounter == nil:
		return nil, errors.New("csi: Config.Mounter is missing")
	}
	return &Plugin{cfg: cfg, drivers: map[string]*driver{}, arrived: make(chan struct{}), kicked: make(chan struct{}, 1), staged: map[string]volume.Sight{}, leftovers: true, notReady: ErrNoNode}, nil
}

// Name implements volume.Plugin.
func (*Plugin) Name() string { return Name }

// CanSupport implements volume.Plugin.
func (*Plugin) CanSupport(v *v1.Volume) bool { return v.CSI != nil }

// CanSupportPV implements volume.PersistentPlugin.
func (*Plugin) CanSupportPV(pv *v1.PersistentVolume) bool { return pv.Spec.CSI != nil }

// Version implements volume.Plugin: a volume of a driver never changes.
func (*Plugin) Version(s volume.Spec) (string, error) {
	v, err := volOf(s)
	return v.id(), err
}

// AttachName implements volume.Attachable.
//
// Upstream: pkg/volume/csi/csi_plugin.go, CanAttach, GetVolumeName.
func (p *Plugin) AttachName(ctx context.Context, s volume.Spec) (v1.UniqueVolumeName, error) {
	v, err := volOf(s)
	if err != nil || v.ephemeral {
		return "", err
	}
	info, err := p.info(ctx, v.driver)
	if err != nil || !info.attached() {
		return "", err
	}
	return v.unique(), nil
}

// FoundName implements volume.Attachable.
func (p *Plugin) FoundName(at volume.Place) v1.UniqueVolumeName {
	data, err := loadData(at.Dir)
	if err != nil {
		data, err = loadData(p.blockData(at.Name))
	}
	if err != nil || data.Mode == ephemeralMode {
		return ""
	}
	return vol{driver: data.Driver, handle: data.Handle}.unique()
}

// RefreshAt implements volume.Refresher: some drivers require republishing.
//
// Upstream: pkg/volume/csi/csi_plugin.go, RequiresRemount.
func (p *Plugin) RefreshAt(s volume.Spec) time.Time {
	v, err := volOf(s)
	if err != nil || s.Block {
		return time.Time{}
	}
	had, _ := p.infos.get(v.driver) // SetUp has just read it; this function must not wait
	if !had.info.republishes() {
		return time.Time{}
	}
	return time.Now().Add(time.Minute)
}
