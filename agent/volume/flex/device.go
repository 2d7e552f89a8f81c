package flex

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/mount-utils"
	utilexec "k8s.io/utils/exec"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

// staging returns the directory where a volume's device is mounted, for all pods of the node.
//
// Upstream: pkg/volume/flexvolume/plugin.go, getDeviceMountPath.
func (p *Plugin) staging(at volume.Place) string {
	return filepath.Join(p.cfg.RootDir, "plugins", Name, at.Plugin, "mounts", at.Name)
}

// stage attaches the volume, mounts its device and returns where. The volume's lock is held.
//
// Upstream: pkg/volume/flexvolume/attacher.go, MountDevice.
func (d *driver) stage(ctx context.Context, s volume.Spec, src *source) (dir string, err error) {
	stage := "MountVolume.WaitForAttach"
	defer func() {
		if err != nil && !errors.Is(err, volume.ErrReleased) {
			err = &volume.StageError{Stage: stage, Err: err}
		}
	}()
	dir = d.p.staging(s.Place)
	mounted, err := d.p.mounted(dir)
	if err != nil || mounted {
		return dir, err
	}
	options, err := src.json(s.Name, nil)
	if err != nil {
		return dir, err
	}
	// As upstream's, the name in the answer is not used.
	if _, err := d.call(ctx, s.Name, "getvolumename", options); err != nil && !errors.Is(err, errUnsupported) {
		return dir, err
	}
	device, err := d.attached(ctx, s, options)
	if err != nil {
		return dir, err
	}
	d.p.setDevice(dir, device)
	stage = "MountVolume.MountDevice"
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return dir, err
	}
	_, err = d.call(ctx, s.Name, "mountdevice", dir, device, options)
	if errors.Is(err, errUnsupported) {
		err = d.format(s, src, device, dir)
	}
	if err != nil {
		_ = os.Remove(dir) // if it is empty and not mounted
	}
	return dir, err
}

// format mounts a device for a driver that does not. Without a device, there is nothing to mount.
func (d *driver) format(s volume.Spec, src *source, device, dir string) error {
	if device == "" {
		return nil
	}
	mode := "rw"
	if src.readOnly {
		mode = "ro"
	}
	if err := mount.NewSafeFormatAndMount(d.p.cfg.Mounter, utilexec.New()).FormatAndMount(device, dir, src.fsType, []string{mode}); err != nil {
		return fmt.Errorf("mount device %s of volume %s at %s (fsType %q): %w", device, s.Name, dir, src.fsType, err)
	}
	return nil
}

// unstage unmounts the device after the last pod of the node, and detaches the volume if no controller does. The volume's lock is held. The
// directory is removed last, so that an interrupted call is repeated.
//
// Upstream: pkg/volume/flexvolume/detacher.go, UnmountDevice and Detach.
func (d *driver) unstage(ctx context.Context, at volume.Place) error {
	dir := d.p.staging(at)
	if _, err := os.Lstat(dir); errors.Is(err, os.ErrNotExist) {
		d.p.setDevice(dir, "")
		return nil
	}
	if used, err := d.p.usedByOthers(at); err != nil || used {
		return err
	}
	return volume.Timed(ctx, volume.Unstaging, func() error { return d.unstageUnused(ctx, at, dir) })
}

func (d *driver) unstageUnused(ctx context.Context, at volume.Place, dir string) error {
	mounted, err := d.p.mounted(dir)
	if err != nil && !mount.IsCorruptedMnt(err) {
		return err
	}
	if mounted || err != nil {
		_, err := d.call(ctx, at.Name, "unmountdevice", dir)
		if errors.Is(err, errUnsupported) {
			err = mount.CleanupMountPoint(dir, d.p.cfg.Mounter, false)
		}
		if err != nil {
			return err
		}
	}
	if d.p.cfg.Attached == nil {
		if _, err := d.call(ctx, at.Name, "detach", at.Name, d.p.cfg.NodeName); err != nil && !errors.Is(err, errUnsupported) {
			return err
		}
	}
	d.p.setDevice(dir, "")
	return d.remove("unmountdevice", dir)
}

// setDevice stores the device of a staged volume; "" for none.
func (p *Plugin) setDevice(dir, device string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if device == "" {
		delete(p.devices, dir)
	} else {
		p.devices[dir] = device
	}
}

// device returns the device of a staged volume, "" if it is not known. Of a volume that an earlier agent has staged, it is that of the node's
// status.
//
// Upstream: pkg/kubelet/volumemanager/reconciler/reconstruct.go, updateReconstructedFromNodeStatus.
func (p *Plugin) device(at volume.Place) string {
	p.mu.Lock()
	device := p.devices[p.staging(at)]
	p.mu.Unlock()
	if device == "" && p.cfg.Attached != nil {
		device, _ = p.cfg.Attached(uniqueName(at))
	}
	return device
}

// usedByOthers reports whether another pod of the node has the volume.
func (p *Plugin) usedByOthers(at volume.Place) (bool, error) {
	pods := filepath.Join(p.cfg.RootDir, "pods")
	entries, err := os.ReadDir(pods)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	for _, e := range entries {
		if e.Name() == string(at.PodUID) {
			continue
		}
		_, err := os.Lstat(filepath.Join(pods, e.Name(), "volumes", strings.ReplaceAll(at.Plugin, "/", "~"), at.Name))
		if err == nil || !errors.Is(err, os.ErrNotExist) {
			return true, nil
		}
	}
	return false, nil
}
