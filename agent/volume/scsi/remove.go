package scsi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// BusyError says that a disk cannot be removed from the node, because something other than its volume uses it.
type BusyError struct {
	// Device is the disk's name, such as sdb, By what uses it: a mount point, or another device.
	Device, By string
}

// Error implements error.
func (e *BusyError) Error() string {
	return fmt.Sprintf("the disk %s is still used by %s: unmount or stop that", e.Device, e.By)
}

// remove removes disks, such as sdb or dm-0, from the node: first the multipath devices, then all their paths. Nothing is removed of what is
// used. Empty names are ignored.
//
// Upstream: pkg/volume/iscsi/iscsi_util.go, deleteDevices; pkg/volume/fc/fc_util.go, DetachDisk, detachFCDisk. Upstream does not check.
func (p *Plugin) remove(ctx context.Context, of string, found []string) error {
	disks, maps, err := p.spread(found)
	if err != nil {
		return err
	}
	for _, name := range slices.Concat(maps, disks) {
		if by, err := p.usedBy(name); err != nil {
			return err
		} else if by != "" {
			return &BusyError{name, by}
		}
	}
	for _, dm := range maps {
		if _, err := p.run(ctx, command{program: "multipath", doing: "remove device", of: of, at: dm}, "-f", p.device(dm)); err != nil {
			return err
		}
	}
	for _, disk := range disks {
		// As upstream, a failure is none of the removal.
		if _, err := p.run(ctx, command{program: "blockdev", doing: "flush", of: of, at: disk}, "--flushbufs", p.device(disk)); err != nil && ctx.Err() != nil {
			return err
		}
		if err := put(p.sys("block", disk, "device", "delete"), "1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove disk %s: %w", disk, err)
		}
	}
	return nil
}

// spread returns the disks and multipath devices of names, with all paths of those.
func (p *Plugin) spread(found []string) (disks, maps []string, err error) {
	for _, name := range found {
		dm, err := p.mapOf(name)
		if err != nil {
			return nil, nil, err
		}
		if dm != "" {
			maps = append(maps, dm)
			paths, err := names(p.sys("block", dm, "slaves"))
			if err != nil {
				return nil, nil, err
			}
			disks = append(disks, paths...)
		}
		if name != "" && dm != name {
			disks = append(disks, name)
		}
	}
	slices.Sort(disks)
	slices.Sort(maps)
	return slices.Compact(disks), slices.Compact(maps), nil
}

// usedBy returns what uses a disk or a partition of it: a mount point, or another device, such as dm-1; "" for nothing. Multipath devices and
// their partitions count only if they are used themselves.
func (p *Plugin) usedBy(name string) (string, error) {
	points, err := p.mounts()
	if err != nil || name == "" {
		return "", err
	}
	for _, m := range points {
		if strings.HasPrefix(m.Device, p.cfg.Dev+"/") && partOf(p.block(m.Device), name) {
			return m.Path, nil
		}
	}
	parts, err := names(p.sys("block", name))
	if err != nil {
		return "", err
	}
	for _, part := range append(parts, ".") {
		if part != "." && !partOf(part, name) {
			continue
		}
		holders, err := names(p.sys("block", name, part, "holders"))
		if err != nil {
			return "", err
		}
		for _, h := range holders {
			id := value(p.sys("block", h, "dm", "uuid"))
			if id != "" && !strings.HasPrefix(id, multipath) && !strings.HasPrefix(id, "part") || !strings.HasPrefix(h, "dm-") {
				return h, nil
			}
			if by, err := p.usedBy(h); err != nil || by != "" {
				return by, err
			}
		}
	}
	return "", nil
}

// partOf reports whether a device is a disk, or a partition of it, such as sdb1.
func partOf(device, disk string) bool {
	rest, ok := strings.CutPrefix(device, disk)
	return ok && strings.Trim(rest, "0123456789") == "" && (rest == "" || !strings.HasPrefix(disk, "dm-"))
}

// globals returns the global directories of the plugin, of block volumes or of others.
func (p *Plugin) globals(block bool) ([]string, error) {
	out := []string{p.global("", block)}
	for range p.kind.depth() {
		var below []string
		for _, dir := range out {
			all, err := names(dir)
			if err != nil {
				return nil, err
			}
			for _, name := range all {
				if name != devices {
					below = append(below, filepath.Join(dir, name))
				}
			}
		}
		out = below
	}
	return slices.DeleteFunc(out, func(dir string) bool { return p.kind.unique(dir) == "" }), nil
}

// devices is the directory of the plugin's block volumes.
const devices = "volumeDevices"

// global returns the path of a global directory.
//
// Upstream: pkg/kubelet/kubelet_getters.go, getPluginDir, getVolumeDevicePluginDir.
func (p *Plugin) global(dir string, block bool) string {
	if block {
		dir = filepath.Join(devices, dir)
	}
	return filepath.Join(p.cfg.RootDir, "plugins", p.Name(), dir)
}
