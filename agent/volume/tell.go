package volume

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/mount-utils"

	"github.com/kubeloupe/kubeloupe/agent/events"
)

// reasons and patience are upstream's.
const (
	reasonFailedMount = "FailedMount"
	reasonFailedMap   = "FailedMapVolume"
	// patience is how long a pod may lack volumes before an event names them.
	patience = 2*time.Minute + 3*time.Second
)

// tell emits an event for a failed attempt to mount. Failed teardowns emit none.
//
// Upstream: pkg/volume/util/operationexecutor, GenerateMountVolumeFunc, generateVolumeMsg.
func (m *Manager) tell(ctx context.Context, j job, err error) {
	if m.cfg.Events == nil || j.verb != setUp || ctx.Err() != nil || errors.Is(err, ErrReleased) || isMissing(err) {
		return
	}
	at, reason := &StageError{Stage: "MountVolume.SetUp", Err: err}, reasonFailedMount
	if j.key.block {
		at.Stage, reason = "MapVolume.MapPodDevice", reasonFailedMap
	}
	if own, ok := errors.AsType[*StageError](err); ok {
		at, reason = own, cmp.Or(own.Reason, reason)
	}
	m.tellMismatch(ctx, j.want.spec, at.Err)
	m.cfg.Events.Pod(ctx, j.want.spec.Pod, "", v1.EventTypeWarning, reason, fmt.Sprintf("%s for volume %q : %v", at.what(), j.key.name, at.Err))
}

// tellMismatch emits an event on the persistent volume if its disk has another file system than the volume.
//
// Upstream: pkg/volume/util/operationexecutor/operation_generator.go, checkForFailedMount.
func (m *Manager) tellMismatch(ctx context.Context, s Spec, err error) {
	if failed, ok := errors.AsType[mount.MountError](err); !ok || failed.Type != mount.FilesystemMismatch || s.PV == nil {
		return
	}
	m.cfg.Events.About(ctx, s.Pod, events.VolumeRef(s.PV), v1.EventTypeWarning, "FailedMountOnFilesystemMismatch",
		fmt.Sprintf("MountVolume failed for volume %q %v", s.PV.Name, err))
}

// MountError says which volumes a pod lacks.
type MountError struct {
	// Unmounted, Unattached and Unprocessed are names of volumes in the pod.
	Unmounted, Unattached, Unprocessed []string
	Err                                error
}

// Error implements error.
//
// Upstream: pkg/kubelet/volumemanager/volume_manager.go, WaitForAttachAndMount.
func (e *MountError) Error() string {
	return fmt.Sprintf("unmounted volumes=%v, unattached volumes=%v, failed to process volumes=%v: %v",
		e.Unmounted, e.Unattached, e.Unprocessed, e.Err)
}

// Unwrap returns the cause.
func (e *MountError) Unwrap() error { return e.Err }

// unprocessed returns the error of a Mount whose claims could not be resolved.
func (m *Manager) unprocessed(ctx context.Context, obj *v1.Pod, names []string, err error) error {
	m.mu.Lock()
	e := m.missing(obj, err)
	m.mu.Unlock()
	e.Unmounted = slices.Compact(slices.Sorted(slices.Values(append(e.Unmounted, names...))))
	e.Unprocessed = slices.Sorted(slices.Values(names))
	m.tellUnmounted(ctx, obj, e)
	return e
}

// failed is called when the wait of a Mount fails, or ends without the content of a volume; err is nil then. It returns the error of the Mount.
//
// Upstream: pkg/kubelet/volumemanager/volume_manager.go, WaitForAttachAndMount.
func (m *Manager) failed(ctx context.Context, obj *v1.Pod, p *pod, err error) error {
	if errors.Is(err, ErrReleased) || errors.Is(err, ErrStopped) {
		return err
	}
	m.mu.Lock()
	p.failed = !m.settled(p)
	late := p.failed && err != nil && time.Since(p.since) >= patience
	var e *MountError
	if late {
		p.since = time.Now()
		e = m.missing(obj, err)
	}
	wake := !p.failed
	m.mu.Unlock()
	if _, full := errors.AsType[*LimitError](err); late && full && ctx.Err() == nil {
		return &RejectedError{e}
	}
	if late {
		m.tellUnmounted(ctx, obj, e)
	}
	if wake && m.cfg.Settled != nil {
		// The last volume was mounted between the end of the wait and now.
		m.cfg.Settled(obj.UID)
	}
	return err
}

func (m *Manager) tellUnmounted(ctx context.Context, obj *v1.Pod, e *MountError) {
	if m.cfg.Events != nil && ctx.Err() == nil {
		m.cfg.Events.Pod(ctx, obj, "", v1.EventTypeWarning, reasonFailedMount, "Unable to attach or mount volumes: "+e.Error())
	}
}

// missing returns which volumes the pod lacks. Called with mu.
func (m *Manager) missing(obj *v1.Pod, err error) *MountError {
	e := &MountError{Err: err}
	p := m.pods[obj.UID]
	if p == nil {
		return e
	}
	for k, w := range p.wanted {
		if m.states[k].satisfies(w) {
			continue
		}
		e.Unmounted = append(e.Unmounted, w.names...)
		if s := m.states[k]; w.attach != "" && (s == nil || !s.mounted) {
			e.Unattached = append(e.Unattached, w.names...)
		}
	}
	slices.Sort(e.Unmounted)
	slices.Sort(e.Unattached)
	return e
}
