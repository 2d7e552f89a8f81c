package flex

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/mount-utils"
	utilexec "k8s.io/utils/exec"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

// Expand implements volume.Expander: the file system of a volume that a controller has expanded. For a driver that does not support it, the
// agent expands the file system of the device.
//
// Upstream: pkg/volume/flexvolume/expander.go, NodeExpand; pkg/volume/util/operationexecutor/operation_generator.go, which gives the pod's
// directory.
func (p *Plugin) Expand(ctx context.Context, s volume.Spec, size resource.Quantity) (done bool, err error) {
	src := sourceOf(s)
	d, err := p.driver(ctx, src.driver)
	if err != nil || !d.caps.RequiresFSResize {
		return false, err
	}
	options, err := src.json(s.Name, nil)
	if err != nil {
		return false, err
	}
	device := ""
	if d.caps.Attach {
		device = p.device(s.Place)
	}
	was := s.PVC.Status.Capacity[v1.ResourceStorage]
	_, err = d.call(ctx, s.Name, "expandfs", options, device, s.Dir, strconv.FormatInt(size.Value(), 10), strconv.FormatInt(was.Value(), 10))
	switch {
	case err == nil:
		return true, nil
	case !errors.Is(err, errUnsupported):
		return false, err
	case device == "":
		return false, nil
	}
	if _, err := mount.NewResizeFs(utilexec.New()).Resize(device, s.Dir); err != nil {
		return false, fmt.Errorf("expand the file system of %s: %w", device, err)
	}
	return true, nil
}
