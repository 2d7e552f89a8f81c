package node

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// renewShare is how often a lease is renewed within its duration.
const renewShare = 4

// keepLease renews the lease from registration on.
//
// Upstream: component-helpers/apimachinery/lease/controller.go.
func (n *Node) keepLease(ctx context.Context) error {
	var (
		again retry
		lease *coordinationv1.Lease // as in the API server; nil if unknown
		err   error
	)
	for {
		for n.latest() == nil { // the lease belongs to the object
			lease = nil
			select {
			case <-n.back:
			case <-ctx.Done():
				return nil
			}
		}
		lease, err = n.renew(ctx, lease)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			if again.repeats() {
				n.cfg.HeartbeatFailed()
			}
			err = again.wait(ctx, n.cfg.Bus, trace.TargetLease, err, nil)
		} else {
			again.reset()
			err = sleep(ctx, jitter(n.cfg.LeaseDuration/renewShare), nil)
		}
		if err != nil {
			return ended(ctx, err)
		}
	}
}

// renew creates or updates the lease. On an error it returns nil, so that the next attempt reads the lease.
func (n *Node) renew(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	leases := n.cfg.Heartbeat.CoordinationV1().Leases(v1.NamespaceNodeLease)
	if lease == nil {
		var err error
		lease, err = leases.Get(ctx, n.cfg.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: n.cfg.Name, Namespace: v1.NamespaceNodeLease}}
			if !n.hold(lease) {
				return nil, fmt.Errorf("make the lease of node %s: the node is not registered", n.cfg.Name)
			}
			if lease, err = leases.Create(ctx, lease, metav1.CreateOptions{}); err != nil {
				return nil, fmt.Errorf("make the lease of node %s: %w", n.cfg.Name, err)
			}
			return lease, nil
		}
		if err != nil {
			return nil, fmt.Errorf("get the lease of node %s: %w", n.cfg.Name, err)
		}
	}
	lease = lease.DeepCopy()
	n.hold(lease)
	lease, err := leases.Update(ctx, lease, metav1.UpdateOptions{})
	if err != nil {
		return nil, fmt.Errorf("renew the lease of node %s: %w", n.cfg.Name, err)
	}
	return lease, nil
}

// hold makes the lease this node's from now on. It reports whether the node's object, to which the lease belongs, is
// known.
func (n *Node) hold(lease *coordinationv1.Lease) bool {
	lease.Spec.HolderIdentity = new(n.cfg.Name)
	lease.Spec.LeaseDurationSeconds = new(int32(n.cfg.LeaseDuration / time.Second))
	lease.Spec.RenewTime = new(metav1.NewMicroTime(time.Now()))
	o := n.latest()
	if o == nil {
		return false
	}
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: n.cfg.Name, UID: o.UID}
	if len(lease.OwnerReferences) != 1 || lease.OwnerReferences[0].UID != o.UID {
		lease.OwnerReferences = []metav1.OwnerReference{owner}
	}
	return true
}
