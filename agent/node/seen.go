package node

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// see takes an object from an API response, unless a newer one is known or the watch has already seen its end.
func (n *Node) see(o *v1.Node) {
	n.seeing.Lock()
	defer n.seeing.Unlock()
	if o.UID == "" || o.UID != n.ended {
		n.take(o, false)
	}
}

// told takes an object from the watch, which had was before; nil if none. The watch is in order: if its versions go backward, an older state
// of the API has been restored, and what is known does not count.
func (n *Node) told(ctx context.Context, was, o any) {
	node, ok := o.(*v1.Node)
	if !ok || node.Name != n.cfg.Name {
		return
	}
	before, ok := was.(*v1.Node)
	n.seeing.Lock()
	defer n.seeing.Unlock()
	n.ended = ""
	n.take(node, ok && olderThan(node.ResourceVersion, before.ResourceVersion))
	n.tellSchedulable(ctx)
}

// take takes an object, see [Self.see], and passes it on. Called with seeing.
func (n *Node) take(o *v1.Node, restored bool) {
	news, first := n.Self.see(o, restored)
	if !news {
		return
	}
	if first {
		select {
		case n.back <- struct{}{}:
		default:
		}
	}
	n.cfg.Seen(o)
}

// exists takes an object that is to be registered, as the API has it.
func (n *Node) exists(o *v1.Node) {
	n.seeing.Lock()
	defer n.seeing.Unlock()
	n.ended = ""
	n.find(o)
}

// deleted forgets an object whose end the watch has seen. It may come late: then the node has a new object.
func (n *Node) deleted(o any) {
	if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = last.Obj
	}
	node, ok := o.(*v1.Node)
	if !ok {
		return
	}
	n.seeing.Lock()
	defer n.seeing.Unlock()
	n.ended = node.UID
	if now := n.latest(); now != nil && now.UID != node.UID {
		return
	}
	n.forget()
	select {
	case n.gone <- struct{}{}:
	default:
	}
}

// tellSchedulable records the Event that the node has been cordoned, also before the agent's start, or uncordoned. Called with seeing.
//
// Upstream: pkg/kubelet/kubelet_node_status.go, recordNodeSchedulableEvent.
func (n *Node) tellSchedulable(ctx context.Context) {
	node := n.latest()
	if node == nil || node.Spec.Unschedulable == n.cordoned {
		return
	}
	reason := "NodeSchedulable"
	if n.cordoned = node.Spec.Unschedulable; n.cordoned {
		reason = "NodeNotSchedulable"
	}
	n.event(ctx, v1.EventTypeNormal, reason, "Node "+n.cfg.Name+" status is now: "+reason)
}

// olderThan compares resource versions, which are decimal numbers.
func olderThan(a, b string) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}
