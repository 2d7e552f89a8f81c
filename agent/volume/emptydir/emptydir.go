// Package emptydir is the volume plugin kubernetes.io/empty-dir: a directory that lives as
// long as its pod, on disk, in memory or in huge pages.
//
// It owns the directory's mode, medium, size and group. It never removes the content of an existing one: a pod's data survives
// restarts of its containers and of the agent. It does not enforce size limits on disk; eviction does. It runs no goroutine and
// publishes only a warning about what the fsGroup could not be set on; the manager publishes the rest.
//
// Upstream: pkg/volume/emptydir/empty_dir.go.
package emptydir

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/quota"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/fsgroup"
	"github.com/kubeloupe/kubeloupe/agent/volume/memdir"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Name is the plugin's name.
const Name = "kubernetes.io/empty-dir"

// Counter has the kernel count what is in directories.
type Counter interface {
	// Assign has it count an empty directory, and reports whether it does.
	Assign(dir string) bool
}

// Config is the configuration of the plugin.
type Config struct {
	Memory *memdir.Maker
	// Allocatable is the node's: its memory is the limit of a volume in memory that has none.
	Allocatable v1.ResourceList
	// Counter counts volumes on disk of pods with users of their own; may be nil.
	Counter Counter
	// Modes says that emptyDir.mode has an effect: feature gate EmptyDirVolumeMode.
	Modes bool
	// Bus may be nil.
	Bus *trace.Bus
}

// Plugin is the plugin.
type Plugin struct{ cfg Config }

// New returns the plugin.
func New(cfg Config) (*Plugin, error) {
	if cfg.Memory == nil {
		return nil, errors.New("emptydir: Config.Memory is missing")
	}
	return &Plugin{cfg}, nil
}

// Name implements volume.Plugin.
func (*Plugin) Name() string { return Name }

// CanSupport implements volume.Plugin.
func (*Plugin) CanSupport(v *v1.Volume) bool { return v.EmptyDir != nil }

// Version implements volume.Plugin: an emptyDir never changes.
func (*Plugin) Version(s volume.Spec) (string, error) {
	_, err := mediumOf(s)
	return "", err
}

// SetUp implements volume.Plugin. An existing volume that is marked ready is not changed.
func (p *Plugin) SetUp(ctx context.Context, s volume.Spec) (criconfig.Volume, error) {
	out := criconfig.Volume{HostPath: s.Dir, SELinuxRelabel: true}
	med, err := mediumOf(s)
	if err != nil {
		return criconfig.Volume{}, err
	}
	ready, err := p.ready(s, med)
	if err != nil || ready {
		return out, err
	}
	if err := p.makeDir(s, med); err != nil {
		return criconfig.Volume{}, err
	}
	if p.cfg.Counter != nil && quota.Counts(s.Pod, s.Volume) {
		p.cfg.Counter.Assign(s.Dir) // without it, the directory is scanned
	}
	if err := p.own(ctx, s); err != nil {
		return criconfig.Volume{}, err
	}
	return out, setReady(s.Meta)
}

// Resize implements volume.LimitPlugin.
func (p *Plugin) Resize(s volume.Spec) error {
	if med, err := mediumOf(s); err != nil || !med.memory {
		return errors.Join(errors.New("only an emptyDir volume in memory can be resized"), err)
	}
	return p.cfg.Memory.Resize(s.Dir, memorySize(s, p.cfg.Allocatable))
}

// makeDir creates the directory. As upstream, a mode of the spec has no effect in memory and huge pages: they are mounted on the
// directory with the modes of new file systems, 01777 and 0755.
//
// Upstream: pkg/volume/emptydir/empty_dir.go, setupDir, setupTmpfs and setupHugepages.
func (p *Plugin) makeDir(s volume.Spec, med medium) error {
	switch {
	case med.hugePages:
		return p.cfg.Memory.HugePages(s.Dir, med.pageSize)
	case med.memory:
		return p.cfg.Memory.Tmpfs(s.Dir, memorySize(s, p.cfg.Allocatable))
	}
	if err := memdir.Make(s.Dir); err != nil {
		return err
	}
	if mode := s.Volume.EmptyDir.Mode; mode != nil && p.cfg.Modes {
		return os.Chmod(s.Dir, fileMode(*mode))
	}
	return nil
}

// fileMode converts permission bits of Unix, 0 to 01777.
func fileMode(mode int32) os.FileMode {
	out := os.FileMode(mode) & os.ModePerm
	if mode&0o1000 != 0 {
		out |= os.ModeSticky
	}
	return out
}

// own sets the directory's group to the pod's. Containers created its content, which has the group from the directory.
func (p *Plugin) own(ctx context.Context, s volume.Spec) error {
	if fsgroup.Of(s.Pod) == nil {
		return nil
	}
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // nothing is written through it
	failures, err := fsgroup.One(root, ".", fsgroup.Of(s.Pod), false)
	failures.Warn(ctx, p.cfg.Bus, "volume "+s.Name)
	return err
}

// ready reports whether the volume was finished before, by either agent, and still exists.
func (p *Plugin) ready(s volume.Spec, med medium) (bool, error) {
	mark, err := os.Lstat(filepath.Join(s.Meta, "ready"))
	if err != nil || !mark.Mode().IsRegular() {
		return false, nil
	}
	if med.memory || med.hugePages {
		return p.cfg.Memory.Mounted(s.Dir)
	}
	dir, err := os.Lstat(s.Dir)
	return err == nil && dir.IsDir(), nil
}

// Upstream: pkg/volume/util/util.go, SetReady.
func setReady(meta string) error {
	if err := os.MkdirAll(meta, 0o750); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(meta, "ready"), nil, 0o640)
}

// TearDown implements volume.Plugin.
func (p *Plugin) TearDown(ctx context.Context, at volume.Place) error {
	if err := os.RemoveAll(at.Meta); err != nil {
		return err
	}
	return p.cfg.Memory.Remove(ctx, at.Dir)
}
