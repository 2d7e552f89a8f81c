// Package claim resolves persistent volume claims for agent/volume.
//
// It finds the claim and the persistent volume of a pod's volume, and writes the progress of a volume's expansion on the node to
// the claim's status. It only gets objects, and never watches them, because nodes may not. It never creates, binds or deletes a
// claim, and keeps nothing.
//
// It runs no goroutine. It publishes nothing; the client's transport publishes its API calls.
package claim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/ephemeral"

	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
	"github.com/kubeloupe/kubeloupe/agent/volume/migrate"
)

// protection is the finalizer that protects a claim while pods use it.
const protection = "kubernetes.io/pvc-protection"

// API is the part of the core API that Claims needs.
type API interface {
	PersistentVolumeClaims(namespace string) kubeapi.PersistentVolumeClaims
	PersistentVolumes() kubeapi.PersistentVolumes
}

// Config is what Claims need.
type Config struct {
	API API
	// Events records volumes that were expanded; may be nil.
	Events events.Publisher
}

// Claims implements volume.Claims. Safe for concurrent use.
type Claims struct{ cfg Config }

// New returns Claims.
func New(cfg Config) (*Claims, error) {
	if cfg.API == nil {
		return nil, errors.New("claim: Config.API is missing")
	}
	return &Claims{cfg}, nil
}

// Resolve implements volume.Claims. A persistent volume of a type that a CSI driver has now comes with the source of that driver. Errors have
// upstream's text.
//
// Upstream: pkg/kubelet/volumemanager/populator, createVolumeSpec, getPVCExtractPV, getPVSpec.
func (c *Claims) Resolve(ctx context.Context, pod *v1.Pod, v *v1.Volume) (*v1.PersistentVolumeClaim, *v1.PersistentVolume, error) {
	name := ""
	switch {
	case v.PersistentVolumeClaim != nil:
		name = v.PersistentVolumeClaim.ClaimName
	case v.Ephemeral != nil:
		name = ephemeral.VolumeClaimName(pod, v)
	default:
		return nil, nil, fmt.Errorf("volume %q is no claim's", v.Name)
	}
	pvc, err := c.bound(ctx, pod.Namespace, name)
	if err != nil {
		return nil, nil, fmt.Errorf("error processing PVC %s/%s: %w", pod.Namespace, name, err)
	}
	if v.Ephemeral != nil {
		if err := ephemeral.VolumeIsForPod(pod, pvc); err != nil {
			return nil, nil, err
		}
	}
	pv, err := c.volumeOf(ctx, pvc)
	if err != nil {
		return nil, nil, fmt.Errorf("error processing PVC %s/%s: %w", pod.Namespace, name, err)
	}
	if pv, err = migrate.PV(pv); err != nil {
		return nil, nil, err
	}
	return pvc, pv, nil
}

func (c *Claims) bound(ctx context.Context, namespace, name string) (*v1.PersistentVolumeClaim, error) {
	pvc, err := c.cfg.API.PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case err != nil:
		return nil, fmt.Errorf("failed to fetch PVC from API server: %w", err)
	case pvc.DeletionTimestamp != nil && !slices.Contains(pvc.Finalizers, protection):
		// With the finalizer, the pod used it before the deletion.
		return nil, errors.New("PVC is being deleted")
	case pvc.Status.Phase != v1.ClaimBound:
		return nil, errors.New("PVC is not bound")
	case pvc.Spec.VolumeName == "":
		return nil, errors.New("PVC has empty pvc.Spec.VolumeName")
	}
	return pvc, nil
}

func (c *Claims) volumeOf(ctx context.Context, pvc *v1.PersistentVolumeClaim) (*v1.PersistentVolume, error) {
	name := pvc.Spec.VolumeName
	pv, err := c.cfg.API.PersistentVolumes().Get(ctx, name, metav1.GetOptions{})
	switch {
	case err != nil:
		return nil, fmt.Errorf("failed to fetch PV %s from API server: %w", name, err)
	case pv.Spec.ClaimRef == nil:
		return nil, fmt.Errorf("found PV object %s but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim", name)
	case pv.Spec.ClaimRef.UID != pvc.UID:
		return nil, fmt.Errorf("found PV object %s but its pv.Spec.ClaimRef.UID %s does not point to claim.UID %s", name, pv.Spec.ClaimRef.UID, pvc.UID)
	}
	return pv, nil
}
