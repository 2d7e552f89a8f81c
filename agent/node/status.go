package node

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
)

// keepStatus registers the node, then writes its status: changes at once, otherwise every ReportFrequency. If the
// object is deleted, it is created again after StatusFrequency, so that an administrator who replaces a node has time
// to do so. (Upstream's kubelet does not create it again until it is restarted.)
func (n *Node) keepStatus(ctx context.Context) error {
	n.look(ctx)
	if err := n.register(ctx, "start"); err != nil {
		return ended(ctx, err)
	}
	var again retry
	for {
		err := n.sync(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case apierrors.IsNotFound(err):
			err = n.registerAgain(ctx)
		case err != nil:
			n.cfg.HeartbeatFailed()
			err = again.wait(ctx, n.cfg.Bus, trace.TargetNodeStatus, err, n.wake)
		default:
			again.reset()
			err = n.idle(ctx)
		}
		if err != nil {
			return ended(ctx, err)
		}
	}
}

// ended returns nil if ctx ended, otherwise err.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// idle waits until the status must be checked.
func (n *Node) idle(ctx context.Context) error {
	timer := time.NewTimer(jitter(n.cfg.StatusFrequency))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-n.wake:
	case <-n.gone:
		if n.latest() == nil {
			return n.registerAgain(ctx)
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

func (n *Node) registerAgain(ctx context.Context) error {
	n.forget()
	n.slow = slowFacts{} // those of a cloud provider are not of the next object
	n.log(ctx, trace.LevelWarn, "the node's object was deleted from the API: it is registered again in "+n.cfg.StatusFrequency.String(), trace.KV{K: "node", V: n.cfg.Name})
	w := trace.Wait{
		For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetRegistration}, Note: "its object was deleted",
		Until: time.Now().Add(n.cfg.StatusFrequency).UnixNano(),
	}
	span := trace.Begin(n.cfg.Bus, trace.FromContext(ctx), w)
	err := sleep(ctx, n.cfg.StatusFrequency, nil)
	trace.End(n.cfg.Bus, span, w)
	if err != nil {
		return err
	}
	return n.register(ctx, trace.NodeDeleted)
}

// sync writes the status if it changed or is due.
//
// Upstream: pkg/kubelet/kubelet_node_status.go, tryUpdateNodeStatus.
func (n *Node) sync(ctx context.Context) error {
	base := n.latest()
	if base == nil {
		return apierrors.NewNotFound(v1.Resource("nodes"), n.cfg.Name)
	}
	err := n.try(ctx, base)
	if err == nil || apierrors.IsNotFound(err) || ctx.Err() != nil {
		return err
	}
	// The known object may be too old; the API server's is not.
	fresh, getErr := n.cfg.Heartbeat.CoreV1().Nodes().Get(ctx, n.cfg.Name, metav1.GetOptions{})
	if getErr != nil {
		if apierrors.IsNotFound(getErr) {
			return getErr
		}
		return err
	}
	n.see(fresh)
	return n.try(ctx, fresh)
}

func (n *Node) try(ctx context.Context, base *v1.Node) error {
	node := base.DeepCopy()
	told := n.apply(ctx, node)
	changed := len(describe(base, node)) > 0
	if !changed && time.Since(n.lastReport) < n.cfg.ReportFrequency+n.delay {
		return nil
	}
	cause := trace.NodeChanged
	if !changed {
		cause = trace.NodePeriod
	}
	return n.write(ctx, trace.NodePatch, cause, base, node, told, changed)
}

// write patches the status subresource, which also accepts labels and annotations, from base to node.
func (n *Node) write(ctx context.Context, op trace.NodeOp, cause trace.NodeCause, base, node *v1.Node, events []told, changed bool) error {
	ev := trace.NodeStatus{Op: op, Cause: cause, Ready: isReady(node), Changed: describe(base, node)}
	span := trace.Begin(n.cfg.Bus, trace.FromContext(ctx), ev)
	ctx = trace.ContextWith(ctx, span)
	data, err := patch(base, node)
	var after *v1.Node
	if err == nil {
		after, err = n.cfg.Heartbeat.CoreV1().Nodes().Patch(ctx, n.cfg.Name, types.StrategicMergePatchType, data, metav1.PatchOptions{}, "status")
	}
	if err != nil {
		ev.Err = err.Error()
		trace.End(n.cfg.Bus, span, ev)
		return fmt.Errorf("write the status of node %s: %w", n.cfg.Name, err)
	}
	trace.End(n.cfg.Bus, span, ev)
	n.reported(ctx, after, events, changed)
	return nil
}

// reported records the API server's new object.
func (n *Node) reported(ctx context.Context, after *v1.Node, events []told, changed bool) {
	if changed || n.lastReport.IsZero() {
		n.delay = time.Duration(float64(n.cfg.ReportFrequency) * (rand.Float64() - 0.5))
	} else {
		n.delay = 0
	}
	n.lastReport = time.Now()
	n.see(after) // before the Events, which have its UID
	for _, e := range events {
		n.rebooted = n.rebooted || e.reason == rebootedReason
		n.event(ctx, e.eventType, e.reason, e.message)
	}
	n.seeing.Lock()
	defer n.seeing.Unlock()
	n.tellSchedulable(ctx)
}
