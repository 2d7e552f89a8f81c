package local

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/mount-utils"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

// Expand implements volume.Expander: the file system of a disk gets the disk's size. A directory, and a disk that a pod has as a device, have
// their size already.
//
// Upstream: pkg/volume/local/local.go, NodeExpand.
func (p *Plugin) Expand(ctx context.Context, s volume.Spec, _ resource.Quantity) (done bool, err error) {
	if s.Block {
		return true, nil
	}
	device := s.PV.Spec.Local.Path
	disk, err := p.isDisk(device)
	if err != nil || !disk {
		return err == nil, err
	}
	give, err := p.take(ctx, s.Place)
	if err != nil {
		return false, err
	}
	defer give()
	if _, err := mount.NewResizeFs(p.exec).Resize(device, s.Dir); err != nil {
		return false, fmt.Errorf("expand the file system of %s: %w", device, err)
	}
	return true, nil
}

// isDisk reports whether the path is a disk; otherwise, it is a directory.
func isDisk(path string) (bool, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return false, err
	case info.IsDir():
		return false, nil
	case info.Mode()&os.ModeDevice == 0 || info.Mode()&os.ModeCharDevice != 0:
		return false, fmt.Errorf("%s: only directory and block device are supported", path)
	}
	return true, nil
}
