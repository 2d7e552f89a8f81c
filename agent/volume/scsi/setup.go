package scsi

import (
	"context"
	"errors"
	"fmt"
	"os"

	"k8s.io/mount-utils"
	utilexec "k8s.io/utils/exec"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/fsgroup"
)

// SetUp implements volume.Plugin: the disk's file system is mounted in the global directory, for all pods of the node, and from there in the
// pod's.
//
// Upstream: pkg/volume/iscsi/disk_manager.go and pkg/volume/fc/disk_manager.go, diskSetUp.
func (p *Plugin) SetUp(ctx context.Context, s volume.Spec) (criconfig.Volume, error) {
	d, err := p.kind.parse(s)
	if err != nil {
		return criconfig.Volume{}, err
	}
	out := criconfig.Volume{HostPath: s.Dir, ReadOnly: d.readOnly, SELinuxRelabel: !d.readOnly && s.SELinuxLabel == ""}
	dir := p.global(d.dir, false)
	p.use(s.Dir, dir)
	points, err := p.mounts()
	if err != nil || points.device(s.Dir) != "" {
		return out, err
	}
	if err := p.waitAttached(ctx, s, d, points.device(dir) != ""); err != nil {
		return out, err
	}
	give, err := p.take(ctx, dir, s.Name)
	if err != nil {
		return out, err
	}
	defer give() // so that the last pod's TearDown sees this one
	if err := p.stage(ctx, s, d, dir); err != nil {
		return out, err
	}
	if err := os.MkdirAll(s.Dir, 0o750); err != nil {
		return out, err
	}
	bind := []string{"bind"}
	if d.readOnly {
		bind = append(bind, "ro")
	}
	if err := p.cfg.Mounter.MountSensitiveWithoutSystemd(dir, s.Dir, "", volume.MountOptions(s, bind...), nil); err != nil {
		_ = os.Remove(s.Dir) // if it is empty and not mounted
		return out, err
	}
	if d.readOnly {
		return out, nil
	}
	return out, fsgroup.Change{Dir: s.Dir, Pod: s.Pod, Bus: p.cfg.Bus, Events: p.cfg.Events}.Try(ctx)
}

// take waits for the lock of a global directory, and returns the function that releases it.
func (p *Plugin) take(ctx context.Context, dir, of string) (func(), error) {
	return p.locks.Take(ctx, p.cfg.Bus, dir, of)
}

// waitAttached waits until the node's status says that the volume is attached, unless another pod already uses it.
func (p *Plugin) waitAttached(ctx context.Context, s volume.Spec, d *disk, mounted bool) error {
	if p.cfg.Attached == nil || mounted {
		return nil
	}
	_, err := volume.WaitAttached(ctx, p.cfg.Bus, p.attachName(d.unique), s.Name, p.cfg.Attached)
	return atStage(s, "WaitForAttach", err)
}

// atStage names the stage of a failed set-up.
func atStage(s volume.Spec, stage string, err error) error {
	if err == nil || errors.Is(err, volume.ErrReleased) {
		return err
	}
	if s.Block {
		return &volume.StageError{Stage: "MapVolume." + stage, Reason: "FailedMapVolume", Err: err}
	}
	return &volume.StageError{Stage: "MountVolume." + stage, Err: err}
}

// stage attaches the disk and mounts its file system in the global directory, whose lock is held. A disk without a file system gets one.
//
// Upstream: pkg/volume/iscsi/attacher.go and pkg/volume/fc/attacher.go, MountDevice.
func (p *Plugin) stage(ctx context.Context, s volume.Spec, d *disk, dir string) error {
	points, err := p.mounts()
	if err != nil {
		return err
	}
	if mounted, err := p.unstageOther(s, points, dir); err != nil || mounted {
		return atStage(s, "MountDevice", err)
	}
	device, err := p.kind.attach(ctx, s, d, dir)
	if err != nil {
		return atStage(s, "WaitForAttach", err)
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	var more []string
	if d.readOnly {
		more = []string{"ro"}
	}
	options := volume.MountOptions(s, withLabel(s, more)...)
	if err := mount.NewSafeFormatAndMount(p.cfg.Mounter, utilexec.New()).FormatAndMount(device, dir, d.fsType, options); err != nil {
		return atStage(s, "MountDevice", fmt.Errorf("mount device %s at %s (fsType %q): %w", device, dir, d.fsType, err))
	}
	return nil
}
