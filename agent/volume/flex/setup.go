package flex

import (
	"context"
	"errors"
	"os"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/fsgroup"
)

// SetUp implements volume.Plugin.
//
// Upstream: pkg/volume/flexvolume/mounter.go, SetUpAt.
func (p *Plugin) SetUp(ctx context.Context, s volume.Spec) (criconfig.Volume, error) {
	src := sourceOf(s)
	out := criconfig.Volume{HostPath: s.Dir, ReadOnly: src.readOnly}
	d, err := p.driver(ctx, src.driver)
	if err != nil {
		p.waits(src.driver)
		return out, err
	}
	out.SELinuxRelabel = d.caps.SELinuxRelabel && !src.readOnly
	mounted, err := p.mounted(s.Dir)
	if err != nil || mounted {
		return out, err
	}
	staged := ""
	if d.caps.Attach {
		give, err := p.take(ctx, s.Place)
		if err != nil {
			return out, err
		}
		defer give() // so that the last pod's TearDown sees this one
		if staged, err = d.stage(ctx, s, &src); err != nil {
			return out, err
		}
	}
	if err := d.mount(ctx, s, &src, staged); err != nil {
		_ = os.Remove(s.Dir) // if it is empty and not mounted
		return out, err
	}
	return out, d.own(ctx, s, &src)
}

// mount has the driver mount the volume into the pod's directory. If the driver does not, the directory where its device is mounted is
// mounted there.
func (d *driver) mount(ctx context.Context, s volume.Spec, src *source, staged string) error {
	more, err := d.p.mountOptions(ctx, s, src)
	if err != nil {
		return err
	}
	options, err := src.json(s.Name, more)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.Dir, 0o750); err != nil {
		return err
	}
	_, err = d.call(ctx, s.Name, "mount", s.Dir, options)
	if errors.Is(err, errUnsupported) && staged != "" {
		return d.p.cfg.Mounter.MountSensitiveWithoutSystemd(staged, s.Dir, "auto", []string{"bind"}, nil)
	}
	return err
}

// own sets the group of the files. As upstream, a failure is no failure of the volume: not every file system has groups.
func (d *driver) own(ctx context.Context, s volume.Spec, src *source) error {
	if src.readOnly || !d.caps.FSGroup || fsgroup.Of(s.Pod) == nil {
		return nil
	}
	return fsgroup.Change{Dir: s.Dir, Pod: s.Pod, Bus: d.p.cfg.Bus, Events: d.p.cfg.Events}.Try(ctx)
}

// mounted reports whether something is mounted at a directory, which may not exist.
func (p *Plugin) mounted(dir string) (bool, error) {
	is, err := p.cfg.Mounter.IsMountPoint(dir)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return is, err
}

// AttachName implements volume.Attachable. A driver that cannot be used attaches nothing; SetUp says why it cannot.
//
// Upstream: pkg/volume/util/util.go, GetUniqueVolumeName.
func (p *Plugin) AttachName(ctx context.Context, s volume.Spec) (v1.UniqueVolumeName, error) {
	src := sourceOf(s)
	d, err := p.driver(ctx, src.driver)
	if err != nil || !d.caps.Attach || p.cfg.Attached == nil {
		return "", nil
	}
	return uniqueName(s.Place), nil
}

// FoundName implements volume.Attachable: a volume whose device is mounted is attached. It does not call the driver.
func (p *Plugin) FoundName(at volume.Place) v1.UniqueVolumeName {
	if _, err := os.Lstat(p.staging(at)); err != nil || p.cfg.Attached == nil {
		return ""
	}
	return uniqueName(at)
}

func uniqueName(at volume.Place) v1.UniqueVolumeName {
	return v1.UniqueVolumeName(at.Plugin + "/" + at.Name)
}
