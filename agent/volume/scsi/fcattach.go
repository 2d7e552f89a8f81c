package scsi

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

// attach implements kind. A disk that is not known, or has one path, is looked for on all buses.
//
// Upstream: pkg/volume/fc/fc_util.go, searchDisk, which does not wait for a device.
func (f fibre) attach(ctx context.Context, s volume.Spec, d *disk, _ string) (string, error) {
	found, dm, err := f.find(d.fc)
	if err != nil {
		return "", err
	}
	if dm == "" {
		f.rescan()
		found, err = nil, nil
		what := fmt.Sprintf("of %q, LUN %s, in %s", d.fc.wwns, d.fc.lun, f.p.byPath())
		if len(d.fc.wwns) == 0 {
			what = fmt.Sprintf("of %q in %s", d.fc.wwids, f.p.byID())
		}
		_, ended := f.p.await(ctx, s.Name, what, func() string {
			if found, dm, err = f.find(d.fc); err != nil {
				return "error"
			}
			return strings.Join(found, "")
		})
		if err := errors.Join(ended, err); err != nil {
			return "", err
		}
	}
	if dm != "" {
		return f.p.device(dm), nil
	}
	return f.p.device(found[0]), nil
}

func (p *Plugin) byID() string { return filepath.Join(p.cfg.Dev, "disk", "by-id") }

// find returns the devices of a disk, such as sdb, and its multipath device, "" for none.
//
// Upstream: pkg/volume/fc/fc_util.go, findDisk, findDiskWWIDs.
func (f fibre) find(l *lun) (found []string, dm string, err error) {
	dir, ids := f.p.byPath(), l.wwns
	if len(ids) == 0 {
		dir, ids = f.p.byID(), l.wwids
	}
	links, err := names(dir)
	if err != nil {
		return nil, "", err
	}
	for _, id := range ids {
		for _, link := range links {
			if !l.names(link, id) {
				continue
			}
			name := f.p.block(filepath.Join(dir, link))
			if name == "" || slices.Contains(found, name) {
				continue
			}
			found = append(found, name)
			if dm == "" {
				if dm, err = f.p.mapOf(name); err != nil {
					return nil, "", err
				}
			}
		}
	}
	return found, dm, nil
}

// names reports whether a link of udev is to the disk, by one of its WWNs or WWIDs.
func (l *lun) names(link, id string) bool {
	if len(l.wwns) == 0 {
		return link == "scsi-"+id
	}
	rest, ok := strings.CutSuffix(link, "fc-0x"+id+"-lun-"+l.lun)
	return ok && (rest == "" || strings.HasPrefix(rest, "pci-") && strings.HasSuffix(rest, "-"))
}

// rescan looks for new disks on all buses. As upstream, failures count as "no new disk".
//
// Upstream: pkg/volume/fc/fc_util.go, scsiHostRescan.
func (f fibre) rescan() {
	hosts, err := names(f.p.sys("class", "scsi_host"))
	if err != nil {
		return
	}
	for _, host := range hosts {
		_ = put(f.p.sys("class", "scsi_host", host, "scan"), "- - -")
	}
}

// detach implements kind. A disk that another global directory has too stays.
//
// Upstream: pkg/volume/fc/fc_util.go, DetachDisk, DetachBlockFCDisk.
func (f fibre) detach(ctx context.Context, dir, device, of string) error {
	found, err := f.at(dir)
	if err != nil {
		return err
	}
	if name := f.p.block(device); name != "" {
		found = append(found, name)
	}
	disks, maps, err := f.p.spread(found)
	if err != nil {
		return err
	}
	for _, block := range []bool{false, true} {
		all, err := f.p.globals(block)
		if err != nil {
			return err
		}
		for _, other := range all {
			if other == dir {
				continue
			}
			used, err := f.at(other)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(used, func(d string) bool { return slices.Contains(disks, d) || slices.Contains(maps, d) }) {
				return nil
			}
		}
	}
	return f.p.remove(ctx, of, found)
}

// at returns the devices of the disk of a global directory.
func (f fibre) at(dir string) ([]string, error) {
	l, ok := lunIn(dir)
	if !ok {
		return nil, fmt.Errorf("%s: want a name such as 50060e801049cfd1-lun-0", dir)
	}
	found, _, err := f.find(&l)
	return found, err
}
