package scsi

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/selinux"
)

// MountsWithLabel implements volume.Labeler: the agent itself mounts the disk's file system.
//
// Upstream: pkg/volume/iscsi/iscsi.go and pkg/volume/fc/fc.go, SupportsSELinuxContextMount.
func (*Plugin) MountsWithLabel(context.Context, volume.Spec) (bool, error) { return true, nil }

// SharedName implements volume.Labeler. It is that of the disk's global directory: the volume's source may write a portal in two ways.
func (p *Plugin) SharedName(s volume.Spec) string {
	d, err := p.kind.parse(s)
	if err != nil {
		return ""
	}
	return d.dir
}

// FoundLabel implements volume.Labeler: it is that of the mount.
//
// Upstream: ConstructVolumeSpec of both plugins.
func (p *Plugin) FoundLabel(at volume.Place) (shared, label string) {
	dir, err := p.globalOf(at)
	if err != nil || dir == "" {
		return "", ""
	}
	points, err := p.mounts()
	if err != nil {
		return "", ""
	}
	if shared, err = filepath.Rel(p.global("", false), dir); err != nil {
		return "", ""
	}
	return shared, points.label(at.Dir)
}

// withLabel adds the label of a volume to mount options.
//
// Upstream: pkg/volume/util/selinux.go, AddSELinuxMountOption.
func withLabel(s volume.Spec, options []string) []string {
	if s.SELinuxLabel == "" {
		return options
	}
	return append(options, selinux.MountOption(s.SELinuxLabel))
}

// unstageOther reports whether a disk is mounted in its global directory as the volume needs it. If it is mounted with another label and no pod
// uses it, for example after a crash, it is unmounted. A label among the volume's own mount options is left alone.
func (p *Plugin) unstageOther(s volume.Spec, points mounts, dir string) (mounted bool, err error) {
	device, label := points.device(dir), points.label(dir)
	own := slices.ContainsFunc(volume.MountOptions(s), func(o string) bool { return strings.HasPrefix(o, "context=") })
	switch {
	case device == "":
		return false, nil
	case label == s.SELinuxLabel || own || s.Adopt || s.Refresh:
		return true, nil
	case p.users(dir, s.Dir) || points.below(p.podsDir(), device) != "":
		return false, fmt.Errorf("its disk is mounted with the SELinux label %q, and this pod needs %q: it must be unmounted first", label, s.SELinuxLabel)
	}
	_, err = p.unmount(dir)
	return false, err
}
