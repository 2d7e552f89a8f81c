package flex

import (
	"context"
	"errors"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

// attached returns the volume's device, when it is attached: by the controller or, without one, by the driver.
//
// Upstream: pkg/volume/flexvolume/attacher.go, Attach and WaitForAttach.
func (d *driver) attached(ctx context.Context, s volume.Spec, options string) (device string, err error) {
	if d.p.cfg.Attached != nil {
		device, err = volume.WaitAttached(ctx, d.p.cfg.Bus, uniqueName(s.Place), s.Name, d.p.cfg.Attached)
	} else {
		var said answer
		said, err = d.call(ctx, s.Name, "attach", options, d.p.cfg.NodeName)
		device = said.Device
		if errors.Is(err, errUnsupported) {
			err = nil
		}
	}
	if err != nil {
		return "", err
	}
	said, err := d.call(ctx, s.Name, "waitforattach", device, options)
	switch {
	case errors.Is(err, errUnsupported):
		return device, nil
	case err != nil:
		return "", err
	}
	return said.Device, nil
}
