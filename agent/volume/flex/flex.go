// Package flex is the volume plugin of flexvolumes: drivers that are programs in a directory of the node, one call each run.
//
// It owns the drivers that it has found, what they can do, the device mounts of those that attach, and the protocol: the arguments of a call,
// and the answers. A driver is looked up in its directory when a volume needs it, so that a new one, or another version, is used without a
// restart; [Plugin.Run] watches the directory, so that pods that wait for a driver start at once. A call that exceeds its deadline ends with
// the driver's children. It never removes data: directories are removed only if they are empty.
//
// Secrets are arguments of the driver, as the protocol requires, so other programs of the node can see them in /proc while it runs.
//
// It runs no goroutine, except that of Run, and those of package program during a call. It publishes a CSICall around each call, a Wait of
// kind attach while a volume is not attached, and one of kind lock while another pod's operation on the same device is in progress. The
// manager publishes the operations.
//
// Upstream: pkg/volume/flexvolume.
package flex

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// Name is the plugin's name. The directories of volumes have the names of drivers.
const Name = "kubernetes.io/flexvolume"

// Config is what a Plugin needs.
type Config struct {
	// RootDir is the kubelet's root directory, Dir that of the drivers (volumePluginDir). Both are absolute.
	RootDir, Dir string
	NodeName     string
	Mounter      mount.Interface
	// Patience is how long a call of a driver may take; 0 means two minutes.
	Patience time.Duration
	// Attached returns the device of a volume that a controller has attached to the node, and whether it has. If nil, the plugin itself
	// attaches volumes and detaches them (enableControllerAttachDetach).
	Attached func(name v1.UniqueVolumeName) (device string, attached bool)
	// API reads Secrets; nil without an API server.
	API kubeapi.CoreV1
	// Secrets learns their values; may be nil.
	Secrets *redact.Vault
	// Events may be nil.
	Events events.Publisher
	// Changed, if set, is called when a driver that a volume waits for may have changed: the volume can be tried again. It must not block.
	Changed func(driver string)
	Bus     *trace.Bus
}

// Plugin is the plugin. Safe for concurrent use.
type Plugin struct {
	cfg   Config
	locks volume.Locks

	mu      sync.Mutex
	drivers map[string]*driver
	wanted  map[string]bool // drivers that volumes wait for
	// devices are those of staged volumes, by the directory where each is mounted, as the drivers' waitforattach has returned them.
	devices map[string]string
	cleaned bool // Clean has succeeded
}

// New checks the configuration. It reads nothing.
func New(cfg Config) (*Plugin, error) {
	switch {
	case !filepath.IsAbs(cfg.RootDir):
		return nil, fmt.Errorf("flex: Config.RootDir %q: want an absolute path", cfg.RootDir)
	case !filepath.IsAbs(cfg.Dir):
		return nil, fmt.Errorf("flex: Config.Dir %q: want an absolute path", cfg.Dir)
	case cfg.Mounter == nil:
		return nil, errors.New("flex: Config.Mounter is missing")
	}
	if cfg.Patience == 0 {
		cfg.Patience = patience
	}
	return &Plugin{cfg: cfg, drivers: map[string]*driver{}, wanted: map[string]bool{}, devices: map[string]string{}}, nil
}

// Name implements volume.Plugin.
func (*Plugin) Name() string { return Name }

// CanSupport implements volume.Plugin.
func (*Plugin) CanSupport(v *v1.Volume) bool { return v.FlexVolume != nil }

// CanSupportPV implements volume.PersistentPlugin.
func (*Plugin) CanSupportPV(pv *v1.PersistentVolume) bool { return pv.Spec.FlexVolume != nil }

// NoMountOptions implements volume.Fixed: the driver gets the options of the volume's source only.
func (*Plugin) NoMountOptions() {}

// DriverOf implements volume.Family.
func (*Plugin) DriverOf(s volume.Spec) string { return sourceOf(s).driver }

// Owns implements volume.Family. Only flexvolumes have directories without kubernetes.io in their names.
func (p *Plugin) Owns(name string) bool {
	if checkName(name) != nil {
		return false
	}
	if !strings.HasPrefix(name, "kubernetes.io/") {
		return true
	}
	_, err := os.Lstat(p.dirOf(name))
	return err == nil
}

// Version implements volume.Plugin: a mounted volume is never set up again.
func (*Plugin) Version(s volume.Spec) (string, error) { return "", checkName(sourceOf(s).driver) }

// checkName returns an error for a name that cannot be that of a driver's directory.
func checkName(driver string) error {
	bad := strings.ContainsAny(driver, "~\\\x00") || strings.HasPrefix(driver, ".") || slices.ContainsFunc(strings.Split(driver, "/"), func(s string) bool {
		return s == "" || s == "." || s == ".."
	})
	if bad || len(driver) > 253 {
		return fmt.Errorf("flexVolume.driver %.253q: want a name such as example.com/disk", driver)
	}
	return nil
}
