package scsi

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

// fibre is the plugin kubernetes.io/fc.
type fibre struct{ p *Plugin }

func (fibre) name() string { return "kubernetes.io/fc" }

func (fibre) depth() int { return 1 }

func (fibre) of(v *v1.Volume, pv *v1.PersistentVolume) bool {
	return v != nil && v.FC != nil || pv != nil && pv.Spec.FC != nil
}

// lun is a disk of a Fibre Channel network: a LUN of ports (WWNs), or a disk with identifiers (WWIDs).
type lun struct {
	wwns []string
	lun  string // with wwns
	// wwids are as udev writes them, with _ for spaces.
	wwids []string
}

// parse implements kind.
//
// Upstream: pkg/volume/fc/fc.go, getVolumeSource, getWwnsLunWwids, GetVolumeName.
func (fibre) parse(s volume.Spec) (*disk, error) {
	src := s.Volume.FC
	if s.PV != nil {
		src = s.PV.Spec.FC
	}
	const of = "fc"
	d := &disk{fsType: src.FSType, readOnly: src.ReadOnly, fc: &lun{}}
	if s.PV != nil {
		d.readOnly = s.ReadOnly
	}
	errs := []error{fsTypeRule.check(of, src.FSType), checkCount("fc.targetWWNs", len(src.TargetWWNs)), checkCount("fc.wwids", len(src.WWIDs))}
	switch {
	case src.Lun != nil && len(src.TargetWWNs) > 0:
		d.unique = fmt.Sprintf("%v:%d", src.TargetWWNs, *src.Lun)
		d.fc.wwns, d.fc.lun = src.TargetWWNs, strconv.Itoa(int(*src.Lun))
		errs = append(errs, checkLun(of, *src.Lun))
		for _, w := range src.TargetWWNs[:min(len(src.TargetWWNs), maxPaths)] {
			errs = append(errs, wwnRule.check(of, w))
		}
	case len(src.WWIDs) > 0:
		d.unique = fmt.Sprintf("%v", src.WWIDs)
		for _, w := range src.WWIDs[:min(len(src.WWIDs), maxPaths)] {
			w = strings.ReplaceAll(w, " ", "_")
			if errs = append(errs, wwidRule.check(of, w)); w == devices {
				errs = append(errs, fmt.Errorf("fc.wwids %q: is the name of the directory of block volumes", w))
			}
			d.fc.wwids = append(d.fc.wwids, w)
		}
	default:
		errs = append(errs, errors.New("fc: must have targetWWNs and lun, or wwids"))
	}
	d.dir = d.fc.dir()
	return d, first(append(errs, checkDir("fc.targetWWNs or fc.wwids", d.dir)))
}

// dir returns the name of the global directory.
//
// Upstream: pkg/volume/fc/fc_util.go, makePDNameInternal.
func (l *lun) dir() string {
	if len(l.wwns) > 0 {
		return strings.Join(l.wwns, "-") + "-lun-" + l.lun
	}
	return strings.Join(l.wwids, "-")
}

// lunIn returns what the name of a global directory says; ok is false if it is not one.
//
// Upstream: pkg/volume/fc/fc_util.go, parsePDName.
func lunIn(dir string) (l lun, ok bool) {
	name := filepath.Base(dir)
	parts := strings.Split(name, "-")
	if n := len(parts); n > 2 && parts[n-2] == "lun" {
		if _, err := lunOf(parts[n-1]); err != nil {
			return l, false
		}
		l.wwns, l.lun = parts[:n-2], parts[n-1]
		for _, w := range l.wwns {
			if wwnRule.check("", w) != nil {
				return l, false
			}
		}
		return l, true
	}
	// An identifier may have "-" in it: then the parts are none of udev's names, and nothing is found.
	l.wwids = parts
	if len(parts) > 1 {
		l.wwids = append(slices.Clip(parts), name)
	}
	return l, wwidRule.check("", name) == nil && name != devices
}

// unique implements kind.
func (fibre) unique(dir string) string {
	l, ok := lunIn(dir)
	switch {
	case !ok:
		return ""
	case len(l.wwns) > 0:
		return fmt.Sprintf("%v:%s", l.wwns, l.lun)
	}
	return fmt.Sprintf("%v", strings.Split(filepath.Base(dir), "-"))
}
