package node

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/agent/clock"
	"github.com/kubeloupe/kubeloupe/trace"
)

// register creates the object with the current status, or adopts an existing one. It retries until it succeeds or ctx
// ends.
//
// Upstream: pkg/kubelet/kubelet_node_status.go, registerWithAPIServer.
func (n *Node) register(ctx context.Context, cause trace.NodeCause) error {
	var again retry
	for {
		err := n.tryRegister(ctx, cause)
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		n.look(ctx)
		if err := again.wait(ctx, n.cfg.Bus, trace.TargetRegistration, err, nil); err != nil {
			return err
		}
	}
}

// lookTimeout limits a look: the registration waits for it.
const lookTimeout = 2 * time.Second

// look finds the node's object in the API unless it is known: its labels and taints count even while the registration fails. That of another
// machine is not ours before it is adopted.
func (n *Node) look(ctx context.Context) {
	select {
	case <-n.known:
		return
	default:
	}
	if n.cfg.NoRegister {
		return // nothing comes before the adoption
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	o, err := n.cfg.Heartbeat.CoreV1().Nodes().Get(ctx, n.cfg.Name, metav1.GetOptions{})
	if err == nil && !n.anothers(o) { // an error is published by the registration
		n.find(o)
	}
}

// anothers reports whether an object is another machine's.
func (n *Node) anothers(o *v1.Node) bool {
	theirs, ours := o.Status.NodeInfo.MachineID, n.cfg.Info.MachineID
	return theirs != "" && ours != "" && theirs != ours
}

func (n *Node) tryRegister(ctx context.Context, cause trace.NodeCause) error {
	if n.cfg.NoRegister {
		return n.adopt(ctx, cause)
	}
	node := n.initial()
	told := n.apply(ctx, node)
	ev := trace.NodeStatus{Op: trace.NodeRegister, Cause: cause, Ready: isReady(node), Changed: describe(&v1.Node{}, node)}
	span := trace.Begin(n.cfg.Bus, trace.FromContext(ctx), ev)
	ctx = trace.ContextWith(ctx, span)
	made, err := n.cfg.Client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	switch {
	case err == nil:
		trace.End(n.cfg.Bus, span, ev)
		n.reported(ctx, made, told, true)
		return nil
	case apierrors.IsAlreadyExists(err), apierrors.IsForbidden(err) && !n.cfg.OnlyExisting:
		// The API server may forbid the creation of nodes, and others may have created this one.
		ev.Changed, ev.Refused = nil, string(apierrors.ReasonForError(err))
		if other := n.adopt(ctx, cause); other == nil || apierrors.IsAlreadyExists(err) || !apierrors.IsNotFound(other) {
			err = other
		}
	}
	if err != nil {
		err = n.explain(err)
		ev.Err = err.Error()
	}
	trace.End(n.cfg.Bus, span, ev)
	return err
}

// adopt adopts an existing object.
func (n *Node) adopt(ctx context.Context, cause trace.NodeCause) error {
	existing, err := n.cfg.Heartbeat.CoreV1().Nodes().Get(ctx, n.cfg.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := n.taken(ctx, existing); err != nil {
		return err
	}
	n.exists(existing)
	node := existing
	if !n.cfg.NoRegister {
		node = n.reconcile(existing)
	}
	node = node.DeepCopy()
	told := n.apply(ctx, node)
	return n.write(ctx, trace.NodeReconcile, cause, existing, node, told, true)
}

// taken returns an error if another running machine has this name: the object is another machine's, and its lease is
// being renewed.
func (n *Node) taken(ctx context.Context, o *v1.Node) error {
	if !n.anothers(o) {
		return nil
	}
	theirs, ours := o.Status.NodeInfo.MachineID, n.cfg.Info.MachineID
	decision := trace.Decision{By: trace.ByNode, Subject: n.cfg.Name, Inputs: []trace.KV{{K: "machine in the API", V: theirs}, {K: "this machine", V: ours}}}
	lease, err := n.cfg.Heartbeat.CoordinationV1().Leases(v1.NamespaceNodeLease).Get(ctx, n.cfg.Name, metav1.GetOptions{})
	if err == nil && lease.Spec.RenewTime != nil && lease.Spec.LeaseDurationSeconds != nil {
		if renewed := lease.Spec.RenewTime.Time; !renewed.Equal(n.rival.renewed) {
			n.rival.renewed, n.rival.seen = renewed, clock.Past(time.Now(), renewed)
		}
		age := time.Since(n.rival.seen)
		if age < time.Duration(*lease.Spec.LeaseDurationSeconds)*time.Second {
			decision.Verdict = trace.VerdictWait
			decision.Reason = fmt.Sprintf("the name is taken: machine %s renewed its lease %s ago; give this node another with --hostname-override, or stop that one",
				theirs, age.Round(time.Second))
			trace.Point(n.cfg.Bus, trace.FromContext(ctx), decision)
			return fmt.Errorf("node name %s: %s", n.cfg.Name, decision.Reason)
		}
	}
	decision.Verdict, decision.Reason = trace.VerdictAdopt, "the object is of another machine, whose lease ran out"
	trace.Point(n.cfg.Bus, trace.FromContext(ctx), decision)
	return nil
}

// explain adds to an error what an administrator can do.
func (n *Node) explain(err error) error {
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Errorf("register node %s: the API server forbids it: the client certificate must be of CN=system:node:%s, O=system:nodes: %w", n.cfg.Name, n.cfg.Name, err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("register node %s: the API server cannot authenticate this node: the client certificate may be expired or belong to another cluster: %w", n.cfg.Name, err)
	}
	return fmt.Errorf("register node %s: %w", n.cfg.Name, err)
}
