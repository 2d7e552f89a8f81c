package csi

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/fsgroup"
)

// work is one operation on one volume.
type work struct {
	p    *Plugin
	spec volume.Spec
	v    vol
	d    *driver
	info *csiDriver
	// attached is the publish context that the attacher has for the driver.
	attached map[string]string
	// staged is the path where the volume is staged, "" if the driver does not stage volumes.
	staged string
}

// begin reads everything that a setup needs, and waits until the volume is attached.
func (p *Plugin) begin(ctx context.Context, s volume.Spec) (*work, error) {
	v, err := volOf(s)
	if err != nil {
		return nil, err
	}
	v.options = withLabel(v.options, s.SELinuxLabel)
	w := &work{p: p, spec: s, v: v}
	if w.d, err = p.awaitDriver(ctx, v.driver, s); err != nil {
		return nil, stage(mountDevice(s), v.ephemeral, noClient(s, v, err))
	}
	if w.info, err = p.info(ctx, v.driver); err != nil {
		return nil, err
	}
	if err := w.info.supports(v); err != nil && !s.Block { // as upstream, the modes do not concern devices
		return nil, fmt.Errorf("kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: %w", err)
	}
	if v.ephemeral || !w.info.attached() {
		return w, nil
	}
	err = volume.Timed(ctx, volume.Attaching, func() (err error) {
		w.attached, err = w.attachWait(ctx)
		return err
	})
	if err != nil {
		at := "MountVolume.WaitForAttach"
		if s.Block {
			at = "MapVolume.WaitForAttach"
		}
		return nil, &volume.StageError{Stage: at, Err: err}
	}
	return w, nil
}

// noClient adds upstream's words to the error of a driver that is not registered.
func noClient(s volume.Spec, v vol, err error) error {
	if _, is := errors.AsType[unregisteredError](err); !is {
		return err
	}
	why := "attacher.MountDevice failed to create newCsiDriverClient"
	switch {
	case v.ephemeral:
		why = "mounter.SetUpAt failed to get CSI client"
	case s.Block:
		why = "blockMapper.SetUpDevice failed to get CSI client"
	}
	return fmt.Errorf("kubernetes.io/csi: %s: %w", why, err)
}

func mountDevice(s volume.Spec) string {
	if s.Block {
		return "MapVolume.SetUpDevice"
	}
	return "MountVolume.MountDevice"
}

// stage adds the stage's name to an error, unless the volume lacks the stage.
func stage(name string, without bool, err error) error {
	if without || err == nil {
		return err
	}
	return &volume.StageError{Stage: name, Err: err}
}

// SetUp implements volume.Plugin.
//
// Upstream: pkg/volume/csi/csi_attacher.go, MountDevice; csi_mounter.go, SetUpAt.
func (p *Plugin) SetUp(ctx context.Context, s volume.Spec) (criconfig.Volume, error) {
	ctx = withMigrated(ctx, s)
	w, err := p.begin(ctx, s)
	if err != nil {
		return criconfig.Volume{}, err
	}
	give, err := p.take(ctx, w.v.id())
	if err != nil {
		return criconfig.Volume{}, err
	}
	defer give()
	// The data file is written first: whatever happens later, a later agent can tear down the volume.
	if err := saveData(s.Dir, w.note()); err != nil {
		return criconfig.Volume{}, err
	}
	if !w.v.ephemeral {
		if err := within(ctx, w.stage); err != nil {
			return criconfig.Volume{}, stage(mountDevice(s), false, err)
		}
	}
	path := filepath.Join(s.Dir, target)
	if err := within(ctx, func(ctx context.Context) error { return w.publish(ctx, path) }); err != nil {
		return criconfig.Volume{}, err
	}
	if err := w.own(ctx, path); err != nil {
		return criconfig.Volume{}, fmt.Errorf("applyFSGroup failed for vol %s: %w", w.v.handle, err)
	}
	return criconfig.Volume{HostPath: path, ReadOnly: w.v.readOnly, SELinuxRelabel: relabels(w.v.readOnly, s.SELinuxLabel, optionsOf(path))}, nil
}

func (w *work) note() volData {
	return volData{
		Name: w.v.name, Handle: w.v.handle, Driver: w.v.driver, Node: w.p.cfg.NodeName,
		Attachment: w.v.attachment(w.p.cfg.NodeName), Mode: w.v.lifecycle(), Label: w.spec.SELinuxLabel,
	}
}

// own sets the group of the files to the pod's, unless the driver does. A driver may have new files when it publishes a volume again.
//
// Upstream: pkg/volume/csi/csi_mounter.go, supportsFSGroup.
func (w *work) own(ctx context.Context, path string) error {
	group := fsgroup.Of(w.spec.Pod)
	if group == nil || !w.info.groups(w.v) {
		return nil
	}
	if delegated, err := w.d.can(ctx, canGroup); err != nil || delegated {
		return err
	}
	// Large trees take longer than a driver's timeout.
	ctx = context.WithoutCancel(ctx)
	return fsgroup.Change{Dir: path, Pod: w.spec.Pod, ReadOnly: w.v.readOnly, Bus: w.p.cfg.Bus, Events: w.p.cfg.Events}.Apply(ctx)
}
