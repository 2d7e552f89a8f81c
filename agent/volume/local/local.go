// Package local is the volume plugin kubernetes.io/local-volume: a directory or disk of the node that an administrator
// set aside as a persistent volume.
//
// It owns the mounts. It never removes data; it creates a file system only on a disk that has none, and expands
// it with the claim. It runs no goroutine and publishes no event; the manager does.
//
// Upstream: pkg/volume/local/local.go.
package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	v1 "k8s.io/api/core/v1"
	"k8s.io/mount-utils"
	utilexec "k8s.io/utils/exec"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/blockdev"
	"github.com/kubeloupe/kubeloupe/agent/volume/fsgroup"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Name is the plugin's name.
const Name = "kubernetes.io/local-volume"

const defaultFSType = "ext4"

// Config is the configuration of the plugin.
type Config struct {
	// RootDir is the kubelet's root directory, absolute.
	RootDir string
	Mounter mount.Interface
	// Events may be nil.
	Events events.Publisher
	Bus    *trace.Bus
}

// Plugin is the plugin.
type Plugin struct {
	cfg   Config
	locks volume.Locks // of persistent volumes, by name: pods of the node share their disks
	// exec and isDisk are replaced by tests.
	exec   utilexec.Interface
	isDisk func(path string) (bool, error)
}

// New returns the plugin.
func New(cfg Config) (*Plugin, error) {
	if !filepath.IsAbs(cfg.RootDir) {
		return nil, fmt.Errorf("local: Config.RootDir %q: want an absolute path", cfg.RootDir)
	}
	if cfg.Mounter == nil {
		return nil, errors.New("local: Config.Mounter is missing")
	}
	return &Plugin{cfg: cfg, exec: utilexec.New(), isDisk: isDisk}, nil
}

// Name implements volume.Plugin.
func (*Plugin) Name() string { return Name }

// CanSupport implements volume.Plugin: there are only persistent ones.
func (*Plugin) CanSupport(*v1.Volume) bool { return false }

// CanSupportPV implements volume.PersistentPlugin.
func (*Plugin) CanSupportPV(pv *v1.PersistentVolume) bool { return pv.Spec.Local != nil }

// Version implements volume.Plugin.
func (*Plugin) Version(s volume.Spec) (string, error) {
	path := s.PV.Spec.Local.Path
	if path == "" || slices.Contains(strings.Split(path, "/"), "..") {
		return "", fmt.Errorf("spec.local.path %q of persistent volume %s: want a path without \"..\" in it", path, s.PV.Name)
	}
	return path, nil
}

// SetUp implements volume.Plugin.
func (p *Plugin) SetUp(ctx context.Context, s volume.Spec) (criconfig.Volume, error) {
	out := criconfig.Volume{HostPath: s.Dir, ReadOnly: s.ReadOnly, SELinuxRelabel: !s.ReadOnly}
	give, err := p.take(ctx, s.Place)
	if err != nil {
		return out, err
	}
	defer give()
	source, err := p.source(s)
	if err != nil {
		return out, err
	}
	mounted, err := isMounted(p.cfg.Mounter, s.Dir)
	if err != nil || mounted {
		return out, err
	}
	others, err := p.otherPods(source)
	if err != nil {
		return out, err
	}
	if err := os.MkdirAll(s.Dir, 0o750); err != nil {
		return out, err
	}
	options := []string{"bind"}
	if s.ReadOnly {
		options = append(options, "ro")
	}
	if err := p.cfg.Mounter.MountSensitiveWithoutSystemd(source, s.Dir, "", volume.MountOptions(s, options...), nil); err != nil {
		_ = mount.CleanupMountPoint(s.Dir, p.cfg.Mounter, true)
		return out, err
	}
	return out, p.own(ctx, s, others)
}

// take waits for a persistent volume's lock, and returns the function that releases it. Without it, the last pod's TearDown could unmount a
// disk that another pod is about to use, and two pods could create its file system.
//
// Upstream: pkg/volume/util/operationexecutor, MountVolume; pkg/volume/local/local.go, SetUpAt.
func (p *Plugin) take(ctx context.Context, at volume.Place) (func(), error) {
	return p.locks.Take(ctx, p.cfg.Bus, at.Name, at.Name)
}

// own sets the group of the files to the pod's, unless another pod uses them.
func (p *Plugin) own(ctx context.Context, s volume.Spec, others bool) error {
	group := fsgroup.Of(s.Pod)
	if group == nil || s.ReadOnly {
		return nil
	}
	if !others {
		return fsgroup.Change{Dir: s.Dir, Pod: s.Pod, Bus: p.cfg.Bus, Events: p.cfg.Events}.Apply(ctx)
	}
	info, err := os.Stat(s.Dir)
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int64(st.Gid) != *group && p.cfg.Events != nil {
		p.cfg.Events.Pod(ctx, s.Pod, "", v1.EventTypeWarning, "AlreadyMountedVolume",
			fmt.Sprintf("The requested fsGroup is %d, but the volume %s has GID %d. The volume may not be shareable.", *group, s.PV.Name, st.Gid))
	}
	return nil
}

// source returns the directory to bind. A disk is first mounted below the plugin's own directory.
func (p *Plugin) source(s volume.Spec) (string, error) {
	src := s.PV.Spec.Local
	disk, err := p.isDisk(src.Path)
	if err != nil || !disk {
		return src.Path, err
	}
	at := filepath.Join(p.disks(), s.PV.Name)
	mounted, err := isMounted(p.cfg.Mounter, at)
	if err != nil || mounted {
		return at, err
	}
	if err := os.MkdirAll(at, 0o750); err != nil {
		return "", err
	}
	fstype := defaultFSType
	if src.FSType != nil && *src.FSType != "" {
		fstype = *src.FSType
	}
	var more []string
	if s.ReadOnly {
		more = []string{"ro"}
	}
	if err := mount.NewSafeFormatAndMount(p.cfg.Mounter, p.exec).FormatAndMount(src.Path, at, fstype, volume.MountOptions(s, more...)); err != nil {
		_ = os.Remove(at)
		return "", &volume.StageError{Stage: "MountVolume.MountDevice", Err: fmt.Errorf("local: failed to mount device %s at %s (fstype: %s), error %w", src.Path, at, fstype, err)}
	}
	return at, nil
}

// disks returns the directory for mounts of disks.
func (p *Plugin) disks() string { return filepath.Join(p.cfg.RootDir, "plugins", Name, "mounts") }

func (p *Plugin) podsDir() string {
	return filepath.Join(p.cfg.RootDir, "pods") + string(filepath.Separator)
}

// otherPods reports whether pods have the directory mounted.
func (p *Plugin) otherPods(source string) (bool, error) {
	refs, err := p.cfg.Mounter.GetMountRefs(source)
	return slices.ContainsFunc(refs, func(r string) bool { return strings.HasPrefix(r, p.podsDir()) }), err
}

// TearDown implements volume.Plugin.
func (p *Plugin) TearDown(ctx context.Context, at volume.Place) error {
	give, err := p.take(ctx, at)
	if err != nil {
		return err
	}
	defer give()
	if err := mount.CleanupMountPoint(at.Dir, p.cfg.Mounter, true); err != nil {
		return err
	}
	disk := filepath.Join(p.disks(), at.Name)
	mounted, err := isMounted(p.cfg.Mounter, disk)
	if err != nil || !mounted {
		return err
	}
	return volume.Staged(p.unstage(ctx, disk), func(ctx context.Context) error {
		give, err := p.take(ctx, at)
		if err != nil {
			return err
		}
		defer give()
		return p.unstage(ctx, disk)
	})
}

// unstage unmounts a disk that no pod has. The volume's lock is held.
func (p *Plugin) unstage(ctx context.Context, disk string) error {
	if used, err := p.otherPods(disk); err != nil || used {
		return err
	}
	return volume.Timed(ctx, volume.Unstaging, func() error { return mount.CleanupMountPoint(disk, p.cfg.Mounter, false) })
}

// global returns the directory of a block volume's device, which is upstream's: unlike that of disks, the plugin's name is escaped in it.
//
// Upstream: pkg/volume/local/local.go, GetGlobalMapPath.
func (p *Plugin) global(name string) string {
	return filepath.Join(p.cfg.RootDir, "plugins", strings.ReplaceAll(Name, "/", "~"), "volumeDevices", name)
}

// MapDir implements volume.BlockPlugin.
func (p *Plugin) MapDir(s volume.Spec) string { return p.global(s.PV.Name) }

// SetUpBlock implements volume.BlockPlugin.
func (p *Plugin) SetUpBlock(ctx context.Context, s volume.Spec) (criconfig.Volume, error) {
	give, err := p.take(ctx, s.Place)
	if err != nil {
		return criconfig.Volume{}, err
	}
	defer give()
	device, err := filepath.EvalSymlinks(s.PV.Spec.Local.Path)
	if err != nil {
		return criconfig.Volume{}, err
	}
	err = blockdev.Map(p.cfg.Mounter, device, p.global(s.PV.Name), string(s.PodUID), s.Dir)
	return criconfig.Volume{HostPath: s.Dir, ReadOnly: s.ReadOnly}, err
}

// TearDownBlock implements volume.BlockPlugin.
func (p *Plugin) TearDownBlock(ctx context.Context, at volume.Place) error {
	give, err := p.take(ctx, at)
	if err != nil {
		return err
	}
	defer give()
	if err := blockdev.Unmap(p.cfg.Mounter, p.global(at.Name), string(at.PodUID), at.Dir); err != nil {
		return err
	}
	if others, err := blockdev.Others(p.global(at.Name), ""); err != nil || others {
		return err
	}
	if err := os.Remove(p.global(at.Name)); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

func isMounted(m mount.Interface, dir string) (bool, error) {
	mounted, err := m.IsMountPoint(dir)
	if os.IsNotExist(err) {
		return false, nil
	}
	return mounted, err
}
