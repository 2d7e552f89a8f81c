package csi

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/selinux"
)

// MountsWithLabel implements volume.Labeler.
//
// Upstream: pkg/volume/csi/csi_plugin.go, SupportsSELinuxContextMount.
func (p *Plugin) MountsWithLabel(ctx context.Context, s volume.Spec) (bool, error) {
	v, err := volOf(s)
	if err != nil {
		return false, err
	}
	info, err := p.info(ctx, v.driver)
	return err == nil && info.labels(), err
}

// SharedName implements volume.Labeler.
func (p *Plugin) SharedName(s volume.Spec) string {
	v, err := volOf(s)
	if err != nil || v.ephemeral {
		return ""
	}
	return v.id()
}

// FoundLabel implements volume.Labeler.
//
// Upstream: pkg/volume/csi/csi_plugin.go, ConstructVolumeSpec.
func (p *Plugin) FoundLabel(at volume.Place) (shared, label string) {
	data, err := loadData(at.Dir)
	if err != nil || data.Mode == ephemeralMode {
		return "", ""
	}
	return data.id(), data.Label
}

// labels reports whether the driver can mount volumes with an SELinux label.
func (i *csiDriver) labels() bool {
	return i != nil && i.Spec.SELinuxMount != nil && *i.Spec.SELinuxMount
}

// withLabel adds a label to a volume's mount options.
//
// Upstream: pkg/volume/util/selinux.go, AddSELinuxMountOption.
func withLabel(options []string, label string) []string {
	if label == "" {
		return options
	}
	return append(slices.Clip(options), selinux.MountOption(label))
}

// relabels reports whether the runtime relabels the files of a volume: the file system has these options, and its files have no label by the
// mount. Those of a read-only volume belong to others.
//
// Upstream: pkg/volume/csi/csi_mounter.go, SetUpAt, GetAttributes; pkg/kubelet/kubelet_pods.go, makeMounts.
func relabels(readOnly bool, label, options string) bool {
	return !readOnly && label == "" && strings.Contains(","+options+",", ",seclabel,")
}

// unstageOther unstages the volume if it is still staged with another label and no pod uses it, for example after a crash: a mount with
// another label would have no effect.
func (w *work) unstageOther(ctx context.Context, path string) error {
	was, err := loadData(filepath.Dir(path))
	if err != nil || was.Label == w.spec.SELinuxLabel || w.spec.Adopt || w.spec.Refresh {
		return nil
	}
	users, err := w.p.users(w.v.id(), w.spec.Dir)
	switch {
	case err != nil:
		return err
	case len(users) > 0:
		return fmt.Errorf("volume %s is staged with the SELinux label %q, and this pod needs %q: it must be unmounted first", w.v.handle, was.Label, w.spec.SELinuxLabel)
	}
	if err := w.p.unstage(ctx, w.d, was, w.spec.Dir); err != nil {
		return fmt.Errorf("unstage volume %s, which has the SELinux label %q: %w", w.v.handle, was.Label, err)
	}
	return nil
}
