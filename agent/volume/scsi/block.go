package scsi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/blockdev"
)

// MapDir implements volume.BlockPlugin.
func (p *Plugin) MapDir(s volume.Spec) string {
	d, err := p.kind.parse(s)
	if err != nil {
		return ""
	}
	return p.global(d.dir, true)
}

// SetUpBlock implements volume.BlockPlugin.
//
// Upstream: pkg/volume/util/operationexecutor/operation_generator.go, GenerateMapVolumeFunc.
func (p *Plugin) SetUpBlock(ctx context.Context, s volume.Spec) (criconfig.Volume, error) {
	d, err := p.kind.parse(s)
	if err != nil {
		return criconfig.Volume{}, err
	}
	out := criconfig.Volume{HostPath: s.Dir, ReadOnly: d.readOnly}
	dir := p.global(d.dir, true)
	p.use(s.Dir, dir)
	points, err := p.mounts()
	if err != nil {
		return out, err
	}
	if _, err := os.Stat(s.Dir); err == nil && points.device(filepath.Join(dir, string(s.PodUID))) != "" {
		return out, nil
	}
	used, err := p.mapped(dir)
	if err != nil {
		return out, err
	}
	if err := p.waitAttached(ctx, s, d, used); err != nil {
		return out, err
	}
	give, err := p.take(ctx, dir, s.Name)
	if err != nil {
		return out, err
	}
	defer give()
	device, err := p.kind.attach(ctx, s, d, dir)
	if err != nil {
		return out, atStage(s, "WaitForAttach", err)
	}
	if device, err = filepath.EvalSymlinks(device); err != nil {
		return out, err
	}
	return out, blockdev.Map(p.cfg.Mounter, device, dir, string(s.PodUID), s.Dir)
}

// TearDownBlock implements volume.BlockPlugin. After the last pod of the node, the disk is detached. The pod's link is removed last: until then
// the volume is known to exist.
//
// Upstream: pkg/volume/iscsi/iscsi.go and pkg/volume/fc/fc.go, TearDownDevice.
func (p *Plugin) TearDownBlock(ctx context.Context, at volume.Place) error {
	dir, err := p.globalOfBlock(at)
	if err != nil {
		return err
	}
	var left error
	if dir != "" {
		give, err := p.take(ctx, dir, at.Name)
		if err != nil {
			return err
		}
		defer give()
		p.use(at.Dir, dir)
		if err := blockdev.Unbind(p.cfg.Mounter, dir, string(at.PodUID)); err != nil {
			return err
		}
		left = p.left(dir, at.Name, p.unmap(ctx, dir, at.Dir, at.Name), true)
	}
	if err := p.removed(at.Dir); err != nil {
		return err
	}
	return left
}

// unmap detaches the disk of a block volume, unless another pod has it. The lock of the global directory is held.
func (p *Plugin) unmap(ctx context.Context, dir, podDir, of string) error {
	if p.users(dir, podDir) {
		return nil
	}
	if used, err := p.mapped(dir); err != nil || used {
		return err
	}
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return volume.Timed(ctx, volume.Unstaging, func() error { return p.detach(ctx, dir, "", of) })
}

// mapped reports whether a pod has an entry in the global directory of a block volume.
func (p *Plugin) mapped(dir string) (bool, error) {
	all, err := names(dir)
	for _, name := range all {
		if !isRecord(name) {
			return true, err
		}
	}
	return false, err
}

// globalOfBlock returns the global directory of a block volume: the one that has the pod's entry for the same device, or what SetUpBlock has
// noted; "" if neither is known.
//
// Upstream: pkg/volume/util/volumepathhandler/volume_path_handler_linux.go, FindGlobalMapPathUUIDFromPod.
func (p *Plugin) globalOfBlock(at volume.Place) (string, error) {
	p.mu.Lock()
	dir := p.used[at.Dir]
	p.mu.Unlock()
	if dir != "" {
		return dir, nil
	}
	all, err := p.globals(true)
	if err != nil {
		return "", err
	}
	device, _ := os.Stat(at.Dir) // the link's target
	var found []string
	for _, dir := range all {
		entry, err := os.Stat(filepath.Join(dir, string(at.PodUID)))
		if err != nil {
			continue
		}
		if device != nil && os.SameFile(device, entry) {
			return dir, nil
		}
		found = append(found, dir)
	}
	if len(found) > 1 {
		return "", fmt.Errorf("the device of the volume no longer exists, and the pod has several block volumes: cannot tell which of %q is this one's", found)
	}
	if len(found) == 0 {
		return "", nil
	}
	return found[0], nil
}
