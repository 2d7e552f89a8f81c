package volume

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

var (
	// ErrReleased ends a Mount whose pod's volumes are being unmounted meanwhile.
	ErrReleased = errors.New("the pod's volumes are being unmounted")
	// ErrWanted ends an Unmount whose pod is mounted again meanwhile.
	ErrWanted = errors.New("the pod's volumes are wanted again")
	// ErrStopped ends a Mount or Unmount when the reconciler stops.
	ErrStopped = errors.New("the volume reconciler has stopped")
)

// Error says which volume failed, and under which plugin.
type Error struct {
	// Op is setup or teardown.
	Op     string
	Volume string
	Plugin string
	Err    error
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("%s of volume %q (%s) failed: %v", e.Op, e.Volume, e.Plugin, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// StageError is a plugin's error at a stage of an operation that users know by name.
type StageError struct {
	// Stage is the stage, for example MountVolume.MountDevice, and While what it did in addition, for example expanding volume.
	Stage, While string
	// Reason is the event's reason; FailedMount if empty.
	Reason string
	Err    error
}

// Error implements error.
func (e *StageError) Error() string { return e.what() + ": " + e.Err.Error() }

func (e *StageError) what() string {
	if e.While != "" {
		return e.Stage + " failed while " + e.While
	}
	return e.Stage + " failed"
}

// Unwrap returns the cause.
func (e *StageError) Unwrap() error { return e.Err }

// MissingError says that a volume's content is not on the node, such as an image that cannot be pulled. It concerns only the
// containers that mount the volume. The plugin has emitted the events.
type MissingError struct{ Err error }

// Error implements error.
func (e *MissingError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *MissingError) Unwrap() error { return e.Err }

// isMissing reports whether an attempt failed with a MissingError.
func isMissing(err error) bool {
	_, is := errors.AsType[*MissingError](err)
	return is
}

// NotAttachedError says that a set-up has waited in vain for a volume to be attached. Its back-off does not grow: otherwise, a volume that is
// attached late would be mounted much later.
type NotAttachedError struct{ Err error }

// Error implements error.
func (e *NotAttachedError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *NotAttachedError) Unwrap() error { return e.Err }

// StagedError says that a volume of a pod was torn down, but not what all pods of the node share of it. The pod has no volume any more, and the
// manager calls Again until it succeeds. Again does nothing if another pod has the volume by then.
//
// Upstream: pkg/kubelet/volumemanager/reconciler/reconciler_common.go, unmountDetachDevices.
type StagedError struct {
	Err   error
	Again func(ctx context.Context) error
}

// Staged returns a [*StagedError]; nil if err is nil.
func Staged(err error, again func(ctx context.Context) error) error {
	if err == nil {
		return nil
	}
	return &StagedError{err, again}
}

// Error implements error.
func (e *StagedError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *StagedError) Unwrap() error { return e.Err }

// NotExpandableError says that a CSI driver cannot expand volumes on nodes.
type NotExpandableError struct{ Driver string }

// Error implements error.
//
// Upstream: pkg/volume/csi/expander.go, nodeExpandWithClient.
func (e *NotExpandableError) Error() string {
	return "NodeExpand is not supported by the CSI driver " + e.Driver
}

// LimitError says that a volume is not attached because the node can have no more of this kind.
type LimitError struct{ Err error }

// Error implements error.
func (e *LimitError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *LimitError) Unwrap() error { return e.Err }

// RejectedError is a [LimitError] that lasts: the pod must be rejected.
type RejectedError struct{ *MountError }

// Error implements error.
//
// Upstream: pkg/kubelet/volumemanager/volume_manager.go, VolumeAttachLimitExceededError.
func (e *RejectedError) Error() string {
	return "Node has reached its volume attachment limit, rejecting pod. " + e.MountError.Error()
}

// Rejection returns the reason of the pod's status.
//
// Upstream: pkg/kubelet/volumemanager/volume_manager.go, VolumeAttachmentLimitExceededReason.
func (*RejectedError) Rejection() string { return "VolumeAttachmentLimitExceeded" }

// UnsupportedError says that no plugin supports the volume.
type UnsupportedError struct {
	Volume string
	// Type is the volume's type as in a manifest, such as awsElasticBlockStore.
	Type string
	// PV is the persistent volume, if it is one.
	PV string
	// Driver is the CSI driver that has volumes of this type now, if there is one.
	Driver string
	// Have lists the available plugins.
	Have []string
}

// Error implements error.
func (e *UnsupportedError) Error() string {
	of := fmt.Sprintf("volume %q", e.Volume)
	if e.PV != "" {
		of += fmt.Sprintf(" (persistent volume %q)", e.PV)
	}
	if e.Type == "csi" {
		return of + " is of type csi, which needs an API server, and this agent runs without one"
	}
	if e.Driver != "" {
		return fmt.Sprintf("%s is of type %s, now of the CSI driver %s, which needs an API server, and this agent runs without one", of, e.Type, e.Driver)
	}
	if e.Type == "gitRepo" { // upstream: pkg/volume/git_repo/git_repo.go, SetUp
		return of + " is of type gitRepo: git-repo volume plugin has been disabled: clone the repository in an init container, into an emptyDir"
	}
	hint := ": use CSI"
	if slices.Contains([]string{"configMap", "secret", "projected", "downwardAPI", "emptyDir", "hostPath", "image"}, e.Type) {
		hint = "" // there is no alternative to it
	}
	return fmt.Sprintf("%s is of type %s, which this build does not support yet%s (it supports %s)",
		of, e.Type, hint, strings.Join(e.Have, ", "))
}

// Check returns an [*UnsupportedError] for a pod with a volume that no plugin supports, and an error for one with
// claims if there is no API server, or with a source that cannot be used. It reads only the pod.
func (m *Manager) Check(obj *v1.Pod) error {
	var use usage
	for i := range obj.Spec.Volumes {
		v := &obj.Spec.Volumes[i]
		err := m.checkOne(obj, v)
		if err == nil {
			continue
		}
		if use.mounts == nil {
			use = usageOf(obj)
		}
		if use.any(v.Name) {
			return err
		}
	}
	return nil
}

func (m *Manager) checkOne(obj *v1.Pod, v *v1.Volume) error {
	if isClaim(v) {
		if m.cfg.Claims == nil {
			return fmt.Errorf("volume %q: %w", v.Name, errNoClaims)
		}
		return nil
	}
	spec, err := specOf(obj, v, resolved{})
	if err == nil && m.pluginOf(spec) == nil {
		err = m.unsupported(v, spec)
	}
	return err
}

func (m *Manager) unsupported(v *v1.Volume, s Spec) error {
	e := &UnsupportedError{Volume: v.Name, Type: typeOf(v)}
	switch {
	case s.PVC != nil:
		e.PV, e.Type = s.PV.Name, pvType(s.PV)
	case s.PV != nil:
		e.Driver = s.PV.Spec.CSI.Driver
	}
	for _, p := range m.cfg.Plugins {
		e.Have = append(e.Have, p.Name())
	}
	slices.Sort(e.Have)
	return e
}
