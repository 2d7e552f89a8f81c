package scsi

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/mount-utils"

	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
	"github.com/kubeloupe/kubeloupe/agent/redact"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Config is what a Plugin needs.
type Config struct {
	// RootDir is the kubelet's root directory, absolute.
	RootDir string
	Mounter mount.Interface
	// Sys and Dev are the directories of the kernel's and of udev's files; "" means /sys and /dev.
	Sys, Dev string
	// Patience is how long a program may run; 0 means three minutes: a login that fails takes iscsiadm two.
	Patience time.Duration
	// Appear is how long the device of a disk may take to appear after a scan; 0 means 30 s.
	Appear time.Duration
	// Attached returns whether the node's status lists a volume as attached. If nil, no controller attaches volumes
	// (enableControllerAttachDetach), and none is waited for.
	Attached func(name v1.UniqueVolumeName) (device string, attached bool)
	// API reads the Secrets of CHAP; nil without an API server.
	API kubeapi.CoreV1
	// Secrets learns their values; may be nil.
	Secrets *redact.Vault
	// Events may be nil.
	Events events.Publisher
	Bus    *trace.Bus
}

// Plugin is one of the two plugins. Safe for concurrent use.
type Plugin struct {
	cfg   Config
	kind  kind
	locks volume.Locks // of global directories, and of iSCSI targets

	mu   sync.Mutex
	used map[string]string // the global directory of a volume, by the pod's directory or link
}

// kind is what differs between the plugins.
type kind interface {
	// name is the plugin's name.
	name() string
	// of reports whether a source is of the kind; one of them is nil.
	of(v *v1.Volume, pv *v1.PersistentVolume) bool
	// parse returns the disk of a volume. The error names the field that is wrong.
	parse(s volume.Spec) (*disk, error)
	// attach returns the device of a disk. dir is its global directory, whose lock is held.
	attach(ctx context.Context, s volume.Spec, d *disk, dir string) (device string, err error)
	// detach removes a disk from the node, and what attach has written into its global directory, where nothing is mounted. device is what
	// was, "" if it is not known. of is the volume's name.
	detach(ctx context.Context, dir, device, of string) error
	// unique returns the identity of the disk of a global directory; "" if the directory is not one.
	unique(dir string) string
	// depth is how many elements the names of global directories have.
	depth() int
}

// disk is a volume's disk.
type disk struct {
	// unique identifies it in the cluster, dir is its global directory below the plugin's.
	unique, dir string
	fsType      string
	readOnly    bool
	iscsi       *target
	fc          *lun
}

// NewISCSI returns the plugin kubernetes.io/iscsi. It reads nothing.
func NewISCSI(cfg Config) (*Plugin, error) {
	p, err := newPlugin(cfg)
	if err == nil {
		p.kind = iscsi{p}
	}
	return p, err
}

// NewFC returns the plugin kubernetes.io/fc. It reads nothing.
func NewFC(cfg Config) (*Plugin, error) {
	p, err := newPlugin(cfg)
	if err == nil {
		p.kind = fibre{p}
	}
	return p, err
}

func newPlugin(cfg Config) (*Plugin, error) {
	switch {
	case !filepath.IsAbs(cfg.RootDir):
		return nil, fmt.Errorf("scsi: Config.RootDir %q: want an absolute path", cfg.RootDir)
	case cfg.Mounter == nil:
		return nil, errors.New("scsi: Config.Mounter is missing")
	}
	if cfg.Sys == "" {
		cfg.Sys = "/sys"
	}
	if cfg.Dev == "" {
		cfg.Dev = "/dev"
	}
	if cfg.Patience == 0 {
		cfg.Patience = patience
	}
	if cfg.Appear == 0 {
		cfg.Appear = appear
	}
	return &Plugin{cfg: cfg, used: map[string]string{}}, nil
}

// Name implements volume.Plugin.
func (p *Plugin) Name() string { return p.kind.name() }

// CanSupport implements volume.Plugin.
func (p *Plugin) CanSupport(v *v1.Volume) bool { return p.kind.of(v, nil) }

// CanSupportPV implements volume.PersistentPlugin.
func (p *Plugin) CanSupportPV(pv *v1.PersistentVolume) bool { return p.kind.of(nil, pv) }

// Version implements volume.Plugin: a mounted volume is never set up again.
func (p *Plugin) Version(s volume.Spec) (string, error) {
	_, err := p.kind.parse(s)
	return "", err
}

// AttachName implements volume.Attachable.
//
// Upstream: pkg/volume/util/util.go, GetUniqueVolumeName; GetVolumeName of both plugins.
func (p *Plugin) AttachName(_ context.Context, s volume.Spec) (v1.UniqueVolumeName, error) {
	d, err := p.kind.parse(s)
	if err != nil || p.cfg.Attached == nil {
		return "", err
	}
	return p.attachName(d.unique), nil
}

// FoundName implements volume.Attachable.
func (p *Plugin) FoundName(at volume.Place) v1.UniqueVolumeName {
	if p.cfg.Attached == nil {
		return ""
	}
	find := p.globalOf
	if isBlock(at) {
		find = p.globalOfBlock
	}
	dir, err := find(at)
	if err != nil || dir == "" {
		return ""
	}
	unique := p.kind.unique(dir)
	if unique == "" {
		return ""
	}
	return p.attachName(unique)
}

func (p *Plugin) attachName(unique string) v1.UniqueVolumeName {
	return v1.UniqueVolumeName(p.Name() + "/" + unique)
}
