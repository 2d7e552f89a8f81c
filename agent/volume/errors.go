package volume

import (
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

// UnsupportedError says that no plugin does the volume.
type UnsupportedError struct {
	Volume string
	// Type is the volume's type as the pod spells it, as persistentVolumeClaim.
	Type string
	// Have lists the plugins that there are.
	Have []string
}

// Error implements error.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("volume %q is of type %s, which this build does not support yet (it supports %s)",
		e.Volume, e.Type, strings.Join(e.Have, ", "))
}

// Check returns an [*UnsupportedError] for a pod that uses a volume that no plugin does. It
// only looks at the pod.
func (m *Manager) Check(obj *v1.Pod) error {
	var used map[string]bool
	for i := range obj.Spec.Volumes {
		v := &obj.Spec.Volumes[i]
		if m.pluginFor(v) != nil {
			continue
		}
		if used == nil {
			used = usedVolumes(obj)
		}
		if used[v.Name] {
			return m.unsupported(v)
		}
	}
	return nil
}

func (m *Manager) unsupported(v *v1.Volume) error {
	e := &UnsupportedError{Volume: v.Name, Type: typeOf(v)}
	for _, p := range m.cfg.Plugins {
		e.Have = append(e.Have, p.Name())
	}
	slices.Sort(e.Have)
	return e
}
