package claim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/agent/volume"
)

// Grow implements volume.Claims.
//
// Upstream: pkg/volume/util/operationexecutor/node_expander.go, expandOnPlugin;
// pkg/volume/util/resize_util.go.
func (c *Claims) Grow(ctx context.Context, pod *v1.Pod, pvc *v1.PersistentVolumeClaim, pv *v1.PersistentVolume,
	do volume.GrowFunc,
) (*v1.PersistentVolumeClaim, error) {
	size := volume.NodeSize(pvc, pv)
	if volume.WithoutStatus(pvc) {
		return c.growSilently(ctx, pod, pvc, pv, size, do)
	}
	if has := pvc.Status.Capacity[v1.ResourceStorage]; has.Cmp(size) >= 0 && pvc.Status.AllocatedResourceStatuses[v1.ResourceStorage] == "" {
		_, err := c.growHere(ctx, pod, pvc, pv, size, do)
		return pvc, err
	}
	pvc, err := c.note(ctx, pvc, true, func(st *v1.PersistentVolumeClaimStatus) {
		setResize(st, v1.PersistentVolumeClaimNodeResizeInProgress)
	})
	if err != nil {
		return pvc, fmt.Errorf("mark claim as growing: %w", err)
	}
	grew, growErr := do(ctx, size)
	if errors.Is(growErr, volume.ErrReleased) || ctx.Err() != nil {
		return pvc, growErr // it was interrupted, and has not failed
	}
	infeasible := abandoned(pvc, size)
	switch status.Code(cause(growErr)) {
	case codes.OK:
	case codes.FailedPrecondition:
		// The driver cannot expand a volume in use: the next mount retries.
		return c.noteFailure(ctx, pvc, infeasible, growErr)
	case codes.Canceled, codes.DeadlineExceeded, codes.Unavailable, codes.ResourceExhausted, codes.Aborted:
		return pvc, growErr // it may still be in progress
	case codes.InvalidArgument, codes.OutOfRange, codes.NotFound:
		pvc, err = c.noteFailure(ctx, pvc, true, growErr)
		return pvc, errors.Join(growErr, err)
	default:
		pvc, err = c.noteFailure(ctx, pvc, infeasible, growErr)
		return pvc, errors.Join(growErr, err)
	}
	if pvc, err = c.noteDone(ctx, pvc, size); err == nil && grew {
		c.tell(ctx, pod, pvc, pv)
	}
	return pvc, err
}

// growSilently expands a volume to whose claim nobody writes how that proceeds: an error is in no status, and only the end is.
//
// Upstream: pkg/volume/util/operationexecutor/operation_generator.go, legacyCallNodeExpandOnPlugin.
func (c *Claims) growSilently(ctx context.Context, pod *v1.Pod, pvc *v1.PersistentVolumeClaim, pv *v1.PersistentVolume,
	size resource.Quantity, do volume.GrowFunc,
) (*v1.PersistentVolumeClaim, error) {
	grew, err := c.growHere(ctx, pod, pvc, pv, size, do)
	if has := pvc.Status.Capacity[v1.ResourceStorage]; err != nil || !grew || has.Cmp(size) >= 0 {
		return pvc, err
	}
	return c.noteDone(ctx, pvc, size)
}

// noteDone writes the size of a volume that was expanded to the claim's status.
func (c *Claims) noteDone(ctx context.Context, pvc *v1.PersistentVolumeClaim, size resource.Quantity) (*v1.PersistentVolumeClaim, error) {
	pvc, err := c.note(ctx, pvc, true, func(st *v1.PersistentVolumeClaimStatus) {
		if st.Capacity == nil {
			st.Capacity = v1.ResourceList{}
		}
		st.Capacity[v1.ResourceStorage] = size
		setResize(st, "")
		st.Conditions = slices.DeleteFunc(st.Conditions, ofResize)
	})
	if err != nil {
		return pvc, fmt.Errorf("update pvc status: %w", err)
	}
	return pvc, nil
}

// abandoned reports whether an expansion to that size has failed before and the user wants another size meanwhile. If it fails again, it is
// infeasible, so that the controller can begin with the other size.
//
// Upstream: pkg/volume/util/operationexecutor/node_expander.go, runPreCheck.
func abandoned(pvc *v1.PersistentVolumeClaim, size resource.Quantity) bool {
	request := pvc.Spec.Resources.Requests[v1.ResourceStorage]
	return request.Cmp(size) != 0 && slices.ContainsFunc(pvc.Status.Conditions, func(c v1.PersistentVolumeClaimCondition) bool {
		return c.Type == v1.PersistentVolumeClaimNodeResizeError && c.Status == v1.ConditionTrue
	})
}

// noteFailure writes a failed expansion to the claim's status.
func (c *Claims) noteFailure(ctx context.Context, pvc *v1.PersistentVolumeClaim, infeasible bool, err error) (*v1.PersistentVolumeClaim, error) {
	return c.note(ctx, pvc, false, func(st *v1.PersistentVolumeClaimStatus) {
		if infeasible {
			setResize(st, v1.PersistentVolumeClaimNodeResizeInfeasible)
		}
		failed(st, err)
	})
}

// growHere expands a volume, and leaves the claim's status as it is: an error is this node's only. It is for a volume that another node has
// expanded, of which the status has the size already. Upstream writes errors of such a volume to it, and then the other nodes do not expand the
// volume any more.
func (c *Claims) growHere(ctx context.Context, pod *v1.Pod, pvc *v1.PersistentVolumeClaim, pv *v1.PersistentVolume,
	size resource.Quantity, do volume.GrowFunc,
) (grew bool, err error) {
	grew, err = do(ctx, size)
	if _, never := errors.AsType[*volume.NotExpandableError](err); never {
		return false, nil
	}
	switch status.Code(cause(err)) {
	case codes.OK:
		if grew {
			c.tell(ctx, pod, pvc, pv)
		}
		return grew, nil
	case codes.FailedPrecondition:
		return false, nil // the driver cannot expand a volume in use; upstream does not try again either
	}
	return false, err
}

// tell emits the Events of a volume that was expanded.
func (c *Claims) tell(ctx context.Context, pod *v1.Pod, pvc *v1.PersistentVolumeClaim, pv *v1.PersistentVolume) {
	if c.cfg.Events == nil {
		return
	}
	const reason = "FileSystemResizeSuccessful"
	message := fmt.Sprintf("MountVolume.NodeExpandVolume succeeded for volume %q %s", pv.Name, pod.Spec.NodeName)
	c.cfg.Events.Pod(ctx, pod, "", v1.EventTypeNormal, reason, message)
	c.cfg.Events.About(ctx, pod, events.ClaimRef(pvc), v1.EventTypeNormal, reason, message)
}

// cause returns the driver's error in an error.
func cause(err error) error {
	var s interface{ GRPCStatus() *status.Status }
	if errors.As(err, &s) {
		return s.GRPCStatus().Err()
	}
	return err
}

// note patches the claim's status. With strict, it fails if the claim was changed meanwhile. On an error it returns the
// unchanged claim.
func (c *Claims) note(ctx context.Context, pvc *v1.PersistentVolumeClaim, strict bool, change func(*v1.PersistentVolumeClaimStatus)) (*v1.PersistentVolumeClaim, error) {
	changed := pvc.DeepCopy()
	change(&changed.Status)
	before, err := json.Marshal(pvc)
	if err != nil {
		return pvc, err
	}
	after, err := json.Marshal(changed)
	if err != nil {
		return pvc, err
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(before, after, pvc)
	if err != nil || string(patch) == "{}" {
		return pvc, err
	}
	if strict {
		if patch, err = withVersion(patch, pvc.ResourceVersion); err != nil {
			return pvc, err
		}
	}
	got, err := c.cfg.API.PersistentVolumeClaims(pvc.Namespace).Patch(ctx, pvc.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return pvc, err
	}
	return got, nil
}

func withVersion(patch []byte, version string) ([]byte, error) {
	var m map[string]any
	if err := json.Unmarshal(patch, &m); err != nil {
		return nil, err
	}
	meta, _ := m["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	meta["resourceVersion"] = version
	m["metadata"] = meta
	return json.Marshal(m)
}

// setResize sets the state of the expansion of the storage; "" for none.
func setResize(st *v1.PersistentVolumeClaimStatus, to v1.ClaimResourceStatus) {
	all := maps.Clone(st.AllocatedResourceStatuses)
	if all == nil {
		all = map[v1.ResourceName]v1.ClaimResourceStatus{}
	}
	all[v1.ResourceStorage] = to
	if to == "" {
		delete(all, v1.ResourceStorage)
	}
	if len(all) == 0 {
		all = nil
	}
	st.AllocatedResourceStatuses = all
}

func failed(st *v1.PersistentVolumeClaimStatus, err error) {
	cond := v1.PersistentVolumeClaimCondition{
		Type: v1.PersistentVolumeClaimNodeResizeError, Status: v1.ConditionTrue,
		LastTransitionTime: metav1.Now(), Message: fmt.Sprintf("failed to expand pvc with %v", err),
	}
	if !slices.ContainsFunc(st.Conditions, func(c v1.PersistentVolumeClaimCondition) bool { return c.Type == cond.Type && c.Status == cond.Status }) {
		st.Conditions = append(slices.DeleteFunc(st.Conditions, func(c v1.PersistentVolumeClaimCondition) bool { return c.Type == cond.Type }), cond)
	}
}

func ofResize(c v1.PersistentVolumeClaimCondition) bool {
	return slices.Contains([]v1.PersistentVolumeClaimConditionType{
		v1.PersistentVolumeClaimFileSystemResizePending, v1.PersistentVolumeClaimResizing,
		v1.PersistentVolumeClaimControllerResizeError, v1.PersistentVolumeClaimNodeResizeError,
	}, c.Type)
}
